// The store: certificates by name.
#include "crypto/certificates.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <unordered_map>

#include "base/log.h"
#include "crypto/certificate_files.h"
#include "crypto/certificates_internal.h"

namespace pqedge::crypto {
namespace {

struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
};
using List = std::vector<uint32_t>;  // indices, the highest rank first
using NameMap = std::unordered_map<std::string, List, TextHash, std::equal_to<>>;

class Store final : public CertificateStore {
 public:
  explicit Store(std::vector<CertificateRef> certificates);
  const CertificateRef& choose(const Query& query) const override;
  const CertificateRef& find(std::string_view host) const override;
  bool covers(std::string_view host) const override;
  const CertificateRef& find_challenge(std::string_view host) const override;
  size_t size() const override { return certificates_.size(); }
  const std::vector<CertificateRef>& all() const override { return certificates_; }
  std::vector<Info> info() const override;

 private:
  void learn(std::string_view name, uint32_t index);
  void find_default();
  const List* exact(std::string_view host) const;
  const List* wildcard(std::string_view host) const;
  const CertificateRef* best(const List& list, const Query& query) const;

  std::vector<CertificateRef> certificates_;
  List default_;
  NameMap exact_;
  NameMap wildcard_;  // what follows "*."
  NameMap challenges_;
  const CertificateRef none_;
};

Store::Store(std::vector<CertificateRef> certificates) : certificates_(std::move(certificates)) {
  for (uint32_t i = 0; i < certificates_.size(); ++i) {
    for (const std::string& name : certificates_[i]->names) learn(name, i);
  }
  for (NameMap* map : {&exact_, &wildcard_}) {
    for (auto& [name, list] : *map) {
      std::ranges::stable_sort(list, std::greater<>(),
                               [&](uint32_t i) { return certificates_[i]->rank; });
    }
  }
  find_default();
}

void Store::learn(std::string_view name, uint32_t index) {
  if (certificates_[index]->is_challenge) {
    challenges_[std::string(name)] = {index};
    return;
  }
  const bool wildcard = name.starts_with("*.");
  // Only a whole left-most label may be a wildcard (RFC 6125 6.4.3).
  if (wildcard) name.remove_prefix(2);
  if (name.empty() || name.find('*') != name.npos) return;
  List& list = (wildcard ? wildcard_ : exact_)[std::string(name)];
  // Side by side are those that differ in kind or strength of key.
  for (const uint32_t other : list) {
    if (certificates_[other]->rank != certificates_[index]->rank) continue;
    log::warning("tls", "{} and {} are both for {}{}: the former is served",
                 certificates_[other]->file, certificates_[index]->file, wildcard ? "*." : "",
                 name);
    break;
  }
  list.push_back(index);
}

// Beside the default one stand those for the same name.
void Store::find_default() {
  std::optional<uint32_t> first;
  for (uint32_t i = 0; i < certificates_.size(); ++i) {
    if (certificates_[i]->is_challenge) continue;
    if (!first || (certificates_[i]->is_default && !certificates_[*first]->is_default)) first = i;
  }
  if (!first) return;
  const Certificate& chosen = *certificates_[*first];
  if (!chosen.names.empty()) {
    const std::string_view name = chosen.names.front();
    const bool wildcard = name.starts_with("*.");
    const NameMap& map = wildcard ? wildcard_ : exact_;
    const auto it = map.find(wildcard ? name.substr(2) : name);
    if (it != map.end()) default_ = it->second;
  }
  if (!std::ranges::contains(default_, *first)) default_ = {*first};
}

const List* Store::exact(std::string_view host) const {
  const auto it = exact_.find(host);
  return it == exact_.end() ? nullptr : &it->second;
}

const List* Store::wildcard(std::string_view host) const {
  const size_t dot = host.find('.');
  if (dot == host.npos || dot == 0) return nullptr;
  const auto it = wildcard_.find(host.substr(dot + 1));
  return it == wildcard_.end() ? nullptr : &it->second;
}

// How well a client can do with it: 0, it cannot verify the handshake's signature.
int fitness(const Certificate& certificate, const CertificateStore::Query& query) {
  if ((certificate.key_schemes & query.client.leaf) == 0) return 0;
  const bool whole = std::ranges::all_of(certificate.signature_schemes, [&](SchemeSet schemes) {
    return (schemes & query.client.chain) != 0;
  });
  const bool quick = !query.avoid_slow || !certificate.slow;
  return 1 + (whole ? 1 : 0) + (quick ? 2 : 0);
}

// The first of the fittest; null: the client can verify none.
const CertificateRef* Store::best(const List& list, const Query& query) const {
  const CertificateRef* best = nullptr;
  int most = 0;
  for (const uint32_t i : list) {
    const int fit = fitness(*certificates_[i], query);
    if (fit <= most) continue;
    most = fit;
    best = &certificates_[i];
  }
  return best;
}

const CertificateRef& Store::choose(const Query& query) const {
  const List* first = nullptr;
  for (const List* list : {exact(query.host), wildcard(query.host)}) {
    if (list == nullptr) continue;
    if (const CertificateRef* found = best(*list, query)) return *found;
    if (first == nullptr) first = list;
  }
  if (first == nullptr) {
    if (default_.empty()) return none_;
    if (const CertificateRef* found = best(default_, query)) return *found;
    first = &default_;
  }
  return certificates_[first->front()];
}

const CertificateRef& Store::find(std::string_view host) const {
  for (const List* list : {exact(host), wildcard(host)}) {
    if (list != nullptr) return certificates_[list->front()];
  }
  return default_.empty() ? none_ : certificates_[default_.front()];
}

bool Store::covers(std::string_view host) const {
  return exact(host) != nullptr || wildcard(host) != nullptr;
}

const CertificateRef& Store::find_challenge(std::string_view host) const {
  const auto it = challenges_.find(host);
  return it == challenges_.end() ? none_ : certificates_[it->second.front()];
}

std::vector<CertificateStore::Info> Store::info() const {
  std::vector<Info> all;
  for (const CertificateRef& c : certificates_) all.push_back({c->names, c->file, c->not_after});
  return all;
}

// A directory may hold what is not ours to put right: the pairs that are good are taken.
Result<void> load_directory(const CertificateSettings& settings,
                            const CertificateStore::LoadOptions& options,
                            std::vector<CertificateRef>& into) {
  const auto pairs = list_certificate_files(settings);
  if (!pairs) return std::unexpected(pairs.error());
  std::string first_problem;
  const size_t before = into.size();
  for (const CertificateFiles& files : *pairs) {
    if (auto loaded = load_certificate(files, options)) {
      into.push_back(std::make_shared<const Certificate>(std::move(*loaded)));
    } else {
      if (first_problem.empty()) first_problem = loaded.error().message;
      if (options.warn) log::error("tls", "left out: {}", loaded.error().message);
    }
  }
  if (into.size() > before) return {};
  if (!first_problem.empty()) {
    return fail("no certificate in {} can be used: {}", settings.directory, first_problem);
  }
  return fail("{} holds no certificate with its key (NAME.crt or NAME.pem with NAME.key beside it)",
              settings.directory);
}

}  // namespace

Result<std::shared_ptr<const CertificateStore>> CertificateStore::load(
    const std::vector<CertificateSettings>& settings, LoadOptions options) {
  if (settings.empty()) return fail("no certificate is configured");
  std::vector<CertificateRef> certificates;
  const CertificateSettings* marked = nullptr;
  for (const CertificateSettings& one : settings) {
    if (one.acme) continue;
    if (one.is_default && marked != nullptr) {
      return fail("{} and {} are both marked as the default certificate; only one can be",
                  marked->chain_file, one.chain_file);
    }
    if (one.is_default) marked = &one;
    if (!one.directory.empty()) {
      if (auto ok = load_directory(one, options, certificates); !ok) {
        return std::unexpected(ok.error());
      }
      continue;
    }
    const auto files = list_certificate_files(one);
    if (!files) return std::unexpected(files.error());
    auto loaded = load_certificate(files->front(), options);
    if (!loaded) return std::unexpected(loaded.error());
    certificates.push_back(std::make_shared<const Certificate>(std::move(*loaded)));
  }
  return make(std::move(certificates));
}

Result<std::shared_ptr<const CertificateStore>> CertificateStore::from_pem(
    std::string_view chain_pem, std::string_view key_pem) {
  auto parsed = parse_certificate({chain_pem, key_pem, "the chain", "the key"});
  if (!parsed) return std::unexpected(parsed.error());
  parsed->id = "file:memory";
  return make({std::make_shared<const Certificate>(std::move(*parsed))});
}

std::shared_ptr<const CertificateStore> CertificateStore::make(
    std::vector<CertificateRef> certificates) {
  return std::make_shared<const Store>(std::move(certificates));
}

}  // namespace pqedge::crypto
