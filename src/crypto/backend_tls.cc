#include "crypto/backend_tls.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>

#include "crypto/backend_handshake.h"
#include "crypto/certificates_internal.h"
#include "crypto/policy.h"
#include "crypto/providers.h"
#include "crypto/server_name.h"

namespace pqedge::crypto {
namespace {

constexpr uint64_t kBackendOptions = SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                     SSL_OP_NO_RX_CERTIFICATE_COMPRESSION |
                                     SSL_OP_NO_TX_CERTIFICATE_COMPRESSION;
constexpr long kBackendModes =
    SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER;
constexpr const char* kBackendTls12Ciphers = "ECDHE+AESGCM:ECDHE+CHACHA20";  // RFC 9325 4.2
// A chain of SLH-DSA signatures has some 150 KB.
constexpr long kMaxChainBytes = 256 * 1024;
// OpenSSL sends four at most; one place is kept for the group that a server has asked for.
constexpr size_t kMaxShares = 3;
constexpr std::array<uint8_t, 9> kAlpn = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

struct FaultText {
  std::string_view label;
  std::string_view text;
};
// In the order of BackendFault.
constexpr FaultText kFaults[] = {
    {"name_mismatch", "the certificate is not for the name that it is held to"},
    {"expired", "the certificate, or one above it, has expired"},
    {"not_yet_valid", "the certificate, or one above it, is not yet valid"},
    {"unknown_authority", "the certificate comes from an authority that is not trusted here"},
    {"bad_certificate", "the certificate is not valid"},
    {"no_common_group", "the server finds no key-exchange group, cipher or signature in common"},
    {"no_common_version", "no TLS version in common"},
    {"certificate_refused", "the server does not take our certificate, or wants one"},
    {"name_refused", "the server does not know the server name"},
    {"not_tls", "the server does not speak TLS"},
    {"closed", "the server ended the connection during the handshake"},
    {"timeout", "the TLS handshake took too long"},
    {"other", "the TLS handshake failed"},
};
static_assert(std::size(kFaults) == kBackendFaults);

// As OpenSSL has it: a name with a star before it gets a key share.
std::string client_list(const std::vector<const Group*>& groups,
                        const std::vector<const Group*>& shares, uint16_t learned) {
  std::string list;
  for (const Group* group : groups) {
    if (!list.empty()) list += ':';
    if (group->id == learned || std::ranges::contains(shares, group)) list += '*';
    list += group->name;
  }
  return list;
}

bool set_name(const std::string& name) {
  std::string lower;
  return name.empty() || judge_server_name(name, lower) != NameVerdict::malformed;
}

void check_shares(const BackendTlsSettings& s, Problems& out) {
  const auto groups = resolve_groups(s.groups);
  if (!groups) {
    out.push_back({"tls_groups", groups.error().message});
    return;
  }
  for (const Group* group : *groups) {
    if (is_available(*group)) continue;
    out.push_back(
        {"tls_groups", std::format("\"{}\" is not in the TLS library in use ({})", group->name,
                                   OpenSSL_version(OPENSSL_VERSION_STRING))});
  }
  if (s.key_shares.size() > kMaxShares) {
    out.push_back({"tls_key_shares", std::format("has {} groups", s.key_shares.size()),
                   std::format("{} at most: each makes every hello larger", kMaxShares)});
  }
  for (size_t i = 0; i < s.key_shares.size(); ++i) {
    const Group* group = find_group(std::string_view(s.key_shares[i]));
    if (group == nullptr || !std::ranges::contains(*groups, group)) {
      out.push_back({entry_key("tls_key_shares", i),
                     in_quotes(s.key_shares[i]) + " is not one of tls_groups", "", "tls_groups"});
    }
  }
}

Result<std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail_errno(errno, "cannot read {}", path);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (in.bad()) return fail("cannot read {}", path);
  return text;
}

Result<X509StorePtr> load_authorities(const std::string& file) {
  clear_errors();
  X509StorePtr store(X509_STORE_new());
  if (store == nullptr) return fail("{}", take_openssl_error());
  if (file.empty()) {
    if (X509_STORE_set_default_paths(store.get()) != 1) {
      return fail("the system's certificate authorities cannot be read: {}", take_openssl_error());
    }
    return store;
  }
  if (X509_STORE_load_file(store.get(), file.c_str()) != 1) {
    return fail("{} has no certificates in PEM form that can be read: {}", file,
                take_openssl_error());
  }
  // An issuing authority alone, or the server's own certificate, is enough.
  X509_STORE_set_flags(store.get(), X509_V_FLAG_PARTIAL_CHAIN);
  return store;
}

Result<CertificateRef> load_certificate(const BackendTlsSettings& s) {
  if (s.chain_file.empty()) return CertificateRef{};
  auto loaded = CertificateStore::load({{.chain_file = s.chain_file, .key_file = s.key_file}});
  if (!loaded) return std::unexpected(loaded.error());
  return (*loaded)->find({});
}

Result<uint64_t> fingerprint_of(const BackendTlsSettings& s, const std::string& groups) {
  std::string text = std::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n", s.verify, s.ca_file, s.server_name,
                                 s.verify_name, s.min_version, groups, s.session_resumption);
  for (const std::string& file : {s.ca_file, s.chain_file}) {
    if (file.empty()) continue;
    auto content = read_file(file);
    if (!content) return std::unexpected(content.error());
    text += std::format("{}\n", content->size()) + *content;
  }
  std::array<uint8_t, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) {
    return fail("SHA-256 is not to be had: {}", take_openssl_error());
  }
  return std::max<uint64_t>(1, load_be64(digest.data()));
}

}  // namespace

std::string_view label(BackendFault fault) { return kFaults[static_cast<size_t>(fault)].label; }
std::string_view text(BackendFault fault) { return kFaults[static_cast<size_t>(fault)].text; }

Problems validate(const BackendTlsSettings& s) {
  constexpr Nanos kMinute = 60 * kSecond;
  Problems out;
  check_shares(s, out);
  if (!set_name(s.server_name)) {
    out.push_back({"tls_server_name", in_quotes(s.server_name) + " is not a host name"});
  }
  if (!set_name(s.verify_name)) {
    out.push_back({"tls_verify_name", in_quotes(s.verify_name) + " is not a host name"});
  }
  if (!s.verify && (!s.ca_file.empty() || !s.verify_name.empty())) {
    out.push_back({s.ca_file.empty() ? "tls_verify_name" : "tls_ca",
                   "has no effect with tls_verify = false", "", "tls_verify"});
  }
  if (s.chain_file.empty() != s.key_file.empty()) {
    out.push_back({s.chain_file.empty() ? "tls_certificate" : "tls_key", "is missing",
                   "a certificate and its key go together"});
  }
  check_duration(out, "tls_handshake_timeout", s.handshake_timeout, 10 * kMillisecond, 5 * kMinute);
  return out;
}

Problems check_backend_tls_files(const BackendTlsSettings& s) {
  Problems out;
  if (s.verify) {
    if (auto store = load_authorities(s.ca_file); !store) {
      out.push_back({"tls_ca", store.error().message});
    }
  }
  if (!s.chain_file.empty() && !s.key_file.empty()) {
    if (auto certificate = CertificateStore::load(
            {{.chain_file = s.chain_file, .key_file = s.key_file}}, {.warn = false});
        !certificate) {
      const bool key = certificate.error().message.contains(s.key_file);
      out.push_back({key ? "tls_key" : "tls_certificate", certificate.error().message});
    }
  }
  return out;
}

// ---- BackendTls --------------------------------------------------------------------------------

Result<std::shared_ptr<const BackendTls>> BackendTls::load(const BackendTlsSettings& settings) {
  std::shared_ptr<BackendTls> made(new BackendTls);
  made->settings_ = settings;
  auto groups = resolve_groups(settings.groups);
  if (!groups) return std::unexpected(groups.error());
  made->groups_ = std::move(*groups);
  for (const std::string& name : settings.key_shares) {
    made->shares_.push_back(find_group(std::string_view(name)));
  }
  if (made->shares_.empty()) made->shares_.push_back(made->groups_.front());
  auto authorities = load_authorities(settings.verify ? settings.ca_file : std::string());
  if (!authorities) return std::unexpected(authorities.error());
  made->authorities_ = std::move(*authorities);
  auto certificate = load_certificate(settings);
  if (!certificate) return std::unexpected(certificate.error());
  made->certificate_ = std::move(*certificate);
  auto fingerprint = fingerprint_of(settings, made->group_list(0));
  if (!fingerprint) return std::unexpected(fingerprint.error());
  made->fingerprint_ = *fingerprint;
  // What a worker could not make later is found out now.
  if (auto trial = made->make_context(); !trial) return std::unexpected(trial.error());
  return made;
}

std::string BackendTls::group_list(uint16_t learned) const {
  return client_list(groups_, shares_, learned);
}

bool BackendTls::sends_share(uint16_t group, uint16_t learned) const {
  return group == learned ||
         std::ranges::any_of(shares_, [&](const Group* share) { return share->id == group; });
}

Result<SslCtxPtr> BackendTls::make_context() const {
  clear_errors();
  SslCtxPtr context(SSL_CTX_new_ex(nullptr, tls_properties(), TLS_client_method()));
  SSL_CTX* c = context.get();
  const int least = settings_.min_version == "1.2" ? TLS1_2_VERSION : TLS1_3_VERSION;
  const bool ok = c != nullptr && SSL_CTX_set_min_proto_version(c, least) == 1 &&
                  SSL_CTX_set_max_proto_version(c, TLS1_3_VERSION) == 1 &&
                  SSL_CTX_set_cipher_list(c, kBackendTls12Ciphers) == 1 &&
                  SSL_CTX_set1_groups_list(c, group_list(0).c_str()) == 1 &&
                  SSL_CTX_set_alpn_protos(c, kAlpn.data(), kAlpn.size()) == 0 &&
                  SSL_CTX_set1_verify_cert_store(c, authorities_.get()) == 1;
  if (!ok) return fail("TLS toward the backends cannot be set up: {}", take_openssl_error());
  SSL_CTX_set_options(c, kBackendOptions);
  SSL_CTX_set_mode(c, kBackendModes);
  SSL_CTX_set_read_ahead(c, 1);
  SSL_CTX_set_max_cert_list(c, kMaxChainBytes);
  SSL_CTX_set_verify(c, settings_.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  if (settings_.session_resumption) {
    SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(c, &on_backend_session);
  } else {
    SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(c, SSL_OP_NO_TICKET);
  }
  if (certificate_ != nullptr &&
      SSL_CTX_use_cert_and_key(c, certificate_->leaf.get(), certificate_->key.get(),
                               certificate_->chain.get(), 1) != 1) {
    return fail("{}: OpenSSL cannot use the certificate for TLS: {}", settings_.chain_file,
                take_openssl_error());
  }
  return context;
}

// ---- BackendSessions ---------------------------------------------------------------------------

void BackendSessions::put(SSL_SESSION* session) {
  if (sessions_.size() == kMost) {
    SSL_SESSION_free(sessions_.front());
    sessions_.erase(sessions_.begin());
  }
  sessions_.push_back(session);
}

SSL_SESSION* BackendSessions::take() {
  while (!sessions_.empty()) {
    SSL_SESSION* session = sessions_.back();
    sessions_.pop_back();
    if (SSL_SESSION_is_resumable(session) == 1) return session;
    SSL_SESSION_free(session);
  }
  return nullptr;
}

void BackendSessions::clear() {
  for (SSL_SESSION* session : sessions_) SSL_SESSION_free(session);
  sessions_.clear();
}

}  // namespace pqedge::crypto
