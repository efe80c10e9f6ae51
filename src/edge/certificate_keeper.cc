#include "edge/certificate_keeper.h"

#include <algorithm>

namespace pqedge::edge {

using crypto::CertificateRef;
using crypto::CertificateStore;

CertificateKeeper::CertificateKeeper(net::Loop& main_loop, Publish publish)
    : loop_(main_loop),
      publish_(std::move(publish)),
      store_(CertificateStore::make({})),
      publish_later_([](void* self) { static_cast<CertificateKeeper*>(self)->publish_now(); },
                     this) {}

CertificateRef CertificateKeeper::find(const std::string& id) const {
  const auto it = std::ranges::find(certificates_, id, [](const auto& c) { return c->id; });
  return it == certificates_.end() ? nullptr : *it;
}

std::vector<CertificateRef> CertificateKeeper::all() const { return certificates_; }

void CertificateKeeper::publish_soon() {
  dirty_ = true;
  loop_.defer(publish_later_);
}

void CertificateKeeper::publish_now() {
  if (!std::exchange(dirty_, false)) return;
  store_ = CertificateStore::make(certificates_);
  publish_(store_);
}

void CertificateKeeper::changed(const std::string& id, const CertificateRef& now) {
  // An observer may add or remove others.
  for (size_t i = 0; i < observers_.size(); ++i) observers_[i](id, now);
}

void CertificateKeeper::add(CertificateRef certificate) {
  const std::string id = certificate->id;
  const auto it = std::ranges::find(certificates_, id, [](const auto& c) { return c->id; });
  if (it == certificates_.end()) {
    certificates_.push_back(certificate);
  } else {
    *it = certificate;
  }
  publish_soon();
  changed(id, certificate);
}

void CertificateKeeper::remove(const std::string& id) {
  if (std::erase_if(certificates_, [&](const auto& c) { return c->id == id; }) == 0) return;
  publish_soon();
  changed(id, nullptr);
}

bool CertificateKeeper::update(const CertificateRef& old, CertificateRef fresh) {
  const auto it = std::ranges::find(certificates_, old);
  if (it == certificates_.end()) return false;
  *it = std::move(fresh);
  publish_soon();
  return true;
}

std::vector<CertificateRef> CertificateKeeper::merged(
    std::string_view prefix, const std::vector<CertificateRef>& certificates) const {
  std::vector<CertificateRef> all;
  for (const CertificateRef& fresh : certificates) {
    const CertificateRef old = find(fresh->id);
    all.push_back(old != nullptr && crypto::same_content(*old, *fresh) ? old : fresh);
  }
  for (const CertificateRef& c : certificates_) {
    if (!c->id.starts_with(prefix)) all.push_back(c);
  }
  return all;
}

std::shared_ptr<const CertificateStore> CertificateKeeper::with(
    std::string_view prefix, const std::vector<CertificateRef>& certificates) const {
  return CertificateStore::make(merged(prefix, certificates));
}

void CertificateKeeper::replace_all(std::string_view prefix,
                                    std::vector<CertificateRef> certificates) {
  std::vector<CertificateRef> before = std::move(certificates_);
  certificates_ = before;
  certificates_ = merged(prefix, certificates);
  if (certificates_ == before) return;
  publish_soon();
  const std::vector<CertificateRef> now = certificates_;
  for (const CertificateRef& c : now) {
    if (!std::ranges::contains(before, c)) changed(c->id, c);
  }
  for (const CertificateRef& c : before) {
    if (find(c->id) == nullptr) changed(c->id, nullptr);
  }
}

void CertificateKeeper::observe(Observer observer) {
  const std::vector<CertificateRef> now = certificates_;
  for (const CertificateRef& c : now) observer(c->id, c);
  observers_.push_back(std::move(observer));
}

}  // namespace pqedge::edge
