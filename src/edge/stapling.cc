#include "edge/stapling.h"

#include <openssl/evp.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "crypto/ocsp.h"

namespace pqedge::edge {
namespace {

// News that come close together make one new store.
constexpr Nanos kApplyAfter = 20 * kMillisecond;

std::string der_of(X509* certificate) {
  unsigned char* der = nullptr;
  const int size = i2d_X509(certificate, &der);
  if (size <= 0) return {};
  std::string out(reinterpret_cast<const char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  return out;
}

std::string fingerprint_of(X509* leaf) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (X509_digest(leaf, EVP_sha256(), digest, &size) != 1) return {};
  return to_hex({digest, size});
}

crypto::X509Ptr share(X509* certificate) {
  X509_up_ref(certificate);
  return crypto::X509Ptr(certificate);
}

// For logs.
std::string label_of(const crypto::Certificate& c) {
  if (!c.file.empty()) return c.file;
  return c.names.empty() ? c.id : c.names.front();
}

}  // namespace

Stapling::Stapling(net::Loop& main_loop, CertificateKeeper& keeper)
    : loop_(main_loop),
      keeper_(keeper),
      apply_timer_([](void* self) { static_cast<Stapling*>(self)->apply(); }, this),
      self_(std::make_shared<Stapling*>(this)) {
  keeper.observe([self = self_](const std::string& id, const crypto::CertificateRef& now) {
    if (*self != nullptr) (*self)->on_certificate(id, now);
  });
}

Stapling::~Stapling() {
  *self_ = nullptr;
  web_.reset();
}

// What the jobs say is heard on the main thread, if there is still somebody.
template <typename News>
auto Stapling::teller(void (Stapling::*take)(News)) {
  return [loop = &loop_, self = self_, take](News news) {
    loop->post([self, take, news = std::move(news)]() mutable {
      if (*self != nullptr) ((*self)->*take)(std::move(news));
    });
  };
}

jobs::WebThread* Stapling::web() {
  if (web_ != nullptr) return web_.get();
  auto started = jobs::WebThread::start();
  if (!started) {
    log::error("ocsp", "no OCSP responder and no log can be asked: {}", started.error().message);
    return nullptr;
  }
  web_ = std::move(*started);
  ocsp_ = std::make_unique<jobs::OcspJob>(*web_, teller(&Stapling::on_ocsp));
  timestamps_ = std::make_unique<jobs::TimestampJob>(*web_, teller(&Stapling::on_timestamps));
  configure_jobs();
  return web_.get();
}

void Stapling::configure_jobs() {
  if (web_ == nullptr) return;
  web_->post([job = ocsp_.get(), settings = ocsp_settings_] { job->configure(settings); });
  jobs::TimestampOptions options{.logs = logs_,
                                 .submit = transparency_.submit,
                                 .cache_dir = transparency_.cache_dir,
                                 .retry = ocsp_settings_.retry,
                                 .local_addresses = true,  // they are named in the file
                                 .timeout = ocsp_settings_.timeout};
  web_->post([job = timestamps_.get(), options = std::move(options)] { job->configure(options); });
}

Result<void> Stapling::configure(const crypto::TlsSettings& settings) {
  std::shared_ptr<const crypto::LogList> logs;
  if (!settings.transparency.log_list.empty()) {
    auto loaded = crypto::LogList::load(settings.transparency.log_list);
    if (!loaded) return std::unexpected(loaded.error());
    logs = std::move(*loaded);
  }
  logs_ = std::move(logs);
  ocsp_settings_ = settings.ocsp;
  transparency_ = settings.transparency;
  configure_jobs();
  // What was off may be on now, and the other way round.
  for (auto& [id, item] : items_) {
    if (const crypto::CertificateRef now = keeper_.find(id)) begin(id, *now);
  }
  return {};
}

void Stapling::on_certificate(const std::string& id, const crypto::CertificateRef& now) {
  if (now == nullptr || now->is_challenge) {
    forget(id);
    return;
  }
  Item& item = items_[id];
  const std::string fingerprint = fingerprint_of(now->leaf.get());
  if (item.fingerprint != fingerprint) item = {};
  item.fingerprint = fingerprint;
  item.label = label_of(*now);
  item.own_timestamps = now->signed_timestamps;
  begin(id, *now);
}

void Stapling::begin(const std::string& id, const crypto::Certificate& certificate) {
  Item& item = items_[id];
  if (ocsp_settings_.stapling) {
    ask(id, certificate);
  } else {
    item.ocsp = {};
    if (web_ != nullptr) web_->post([job = ocsp_.get(), id] { job->remove(id); });
  }
  report_timestamps(item, certificate);
  if (!transparency_.submit.empty()) {
    submit(id, certificate);
  } else {
    item.timestamps.clear();
    if (web_ != nullptr) web_->post([job = timestamps_.get(), id] { job->remove(id); });
  }
  apply_one(id);
}

void Stapling::ask(const std::string& id, const crypto::Certificate& certificate) {
  X509* leaf = certificate.leaf.get();
  auto responders = crypto::ocsp_responders(leaf);
  const bool must_staple = crypto::must_staple(leaf);
  // Nobody to ask, and nobody who asks for it: quiet, and no thread for it.
  if (responders.empty() && !must_staple) return;
  Item& item = items_[id];
  jobs::OcspSubject subject{.id = id,
                            .label = item.label,
                            .fingerprint = item.fingerprint,
                            .leaf = share(leaf),
                            .issuer = crypto::find_issuer(leaf, certificate.chain.get()),
                            .responders = std::move(responders),
                            .must_staple = must_staple};
  if (item.ocsp.response.empty() && subject.issuer != nullptr) {
    if (auto kept = jobs::cached_response(ocsp_settings_, subject)) {
      subject.kept = std::make_shared<const jobs::OcspNews>(*kept);
      item.ocsp = std::move(*kept);
    }
  }
  if (web() == nullptr) return;
  auto moved = std::make_shared<jobs::OcspSubject>(std::move(subject));
  web_->post([job = ocsp_.get(), moved] { job->add(std::move(*moved)); });
}

// Authorities that are known to browsers have put timestamps into what they issued.
void Stapling::submit(const std::string& id, const crypto::Certificate& certificate) {
  X509* leaf = certificate.leaf.get();
  const Item& item = items_[id];
  if (!item.own_timestamps.empty() || !crypto::embedded_timestamps(leaf).empty()) return;
  // A log wants to know who issued it.
  if (crypto::find_issuer(leaf, certificate.chain.get()) == nullptr) return;
  if (web() == nullptr) return;
  auto subject = std::make_shared<jobs::TimestampSubject>();
  subject->id = id;
  subject->label = item.label;
  subject->fingerprint = item.fingerprint;
  subject->leaf = share(leaf);
  subject->chain.push_back(der_of(leaf));
  for (int i = 0; i < sk_X509_num(certificate.chain.get()); ++i) {
    subject->chain.push_back(der_of(sk_X509_value(certificate.chain.get(), i)));
  }
  web_->post([job = timestamps_.get(), subject] { job->add(std::move(*subject)); });
}

void Stapling::forget(const std::string& id) {
  if (items_.erase(id) == 0) return;
  dirty_.erase(id);
  if (web_ == nullptr) return;
  web_->post([ocsp = ocsp_.get(), timestamps = timestamps_.get(), id] {
    ocsp->remove(id);
    timestamps->remove(id);
  });
}

void Stapling::report_timestamps(Item& item, const crypto::Certificate& certificate) {
  using Source = crypto::TimestampSource;
  X509* leaf = certificate.leaf.get();
  const std::vector<crypto::TimestampReport> before = std::exchange(item.reports, {});
  const std::pair<Source, std::string> lists[] = {
      {Source::certificate, crypto::embedded_timestamps(leaf)},
      {Source::ocsp_response, item.ocsp.timestamps},
      {Source::file, item.own_timestamps.empty() ? item.timestamps : item.own_timestamps}};
  crypto::X509Ptr issuer;
  for (const auto& [source, list] : lists) {
    if (list.empty()) continue;
    if (issuer == nullptr) issuer = crypto::find_issuer(leaf, certificate.chain.get());
    auto report = crypto::report_timestamps(as_bytes(list), source, leaf, issuer.get(), logs_.get(),
                                            std::time(nullptr));
    const auto told = std::ranges::find(before, source, &crypto::TimestampReport::source);
    if (told == before.end() || told->problems != report.problems) {
      for (const std::string& problem : report.problems) {
        log::warning("ct", "{}: {} ({})", item.label, problem, name(source));
      }
    }
    item.reports.push_back(std::move(report));
  }
}

void Stapling::on_ocsp(jobs::OcspNews news) {
  const auto it = items_.find(news.id);
  if (it == items_.end() || it->second.fingerprint != news.fingerprint) return;
  if (!ocsp_settings_.stapling) return;
  const std::string id = news.id;
  const bool other_timestamps = it->second.ocsp.timestamps != news.timestamps;
  it->second.ocsp = std::move(news);
  const crypto::CertificateRef now = keeper_.find(id);
  if (other_timestamps && now != nullptr) report_timestamps(it->second, *now);
  touch(id);
}

void Stapling::on_timestamps(jobs::TimestampNews news) {
  const auto it = items_.find(news.id);
  if (it == items_.end() || it->second.fingerprint != news.fingerprint) return;
  if (transparency_.submit.empty()) return;
  it->second.timestamps = std::move(news.timestamps);
  if (const crypto::CertificateRef now = keeper_.find(news.id)) report_timestamps(it->second, *now);
  touch(news.id);
}

void Stapling::touch(const std::string& id) {
  dirty_.insert(id);
  if (!apply_timer_.armed()) apply_timer_.arm(loop_, kApplyAfter);
}

void Stapling::apply() {
  apply_timer_.disarm();
  for (const std::string& id : std::exchange(dirty_, {})) apply_one(id);
}

void Stapling::apply_one(const std::string& id) {
  const auto it = items_.find(id);
  const crypto::CertificateRef now = keeper_.find(id);
  if (it == items_.end() || now == nullptr) return;
  const Item& item = it->second;
  const std::string& timestamps =
      item.own_timestamps.empty() ? item.timestamps : item.own_timestamps;
  if (now->ocsp_response == item.ocsp.response && now->signed_timestamps == timestamps) return;
  auto changed = std::make_shared<crypto::Certificate>(now->copy());
  changed->ocsp_response = item.ocsp.response;
  changed->ocsp_next_update = item.ocsp.response.empty() ? 0 : item.ocsp.valid_until;
  changed->signed_timestamps = timestamps;
  changed->compressed = crypto::new_compressed_messages();
  keeper_.update(now, std::move(changed));
}

}  // namespace pqedge::edge
