#include "crypto/client_authority.h"

#include <fcntl.h>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <format>

#include "base/log.h"
#include "crypto/callbacks.h"

namespace pqedge::crypto {
namespace {

constexpr off_t kMaxAuthorityFile = 16 * 1024 * 1024;  // revocation lists of large authorities

using CrlPtr = std::unique_ptr<X509_CRL, FreeWith<X509_CRL_free>>;

Result<std::string> read_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return fail_errno(errno, "cannot open {}", path);
  struct Closer {
    int fd;
    ~Closer() { close(fd); }
  } const closer{fd};
  struct stat st{};
  if (fstat(fd, &st) != 0) return fail_errno(errno, "cannot read {}", path);
  if (!S_ISREG(st.st_mode)) return fail("{} is not a regular file", path);
  if (st.st_size > kMaxAuthorityFile)
    return fail("{} has {} bytes, more than are read", path, st.st_size);
  std::string text(static_cast<size_t>(st.st_size), '\0');
  size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t n = read(fd, text.data() + filled, text.size() - filled);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "cannot read {}", path);
    if (n == 0) break;
    filled += static_cast<size_t>(n);
  }
  text.resize(filled);
  return text;
}

BioPtr memory(std::string_view bytes) {
  return BioPtr(BIO_new_mem_buf(bytes.data(), static_cast<int>(bytes.size())));
}

// Whether PEM_read_bio_...() ended because nothing is left.
bool at_end() {
  const unsigned long error = ERR_peek_last_error();
  const bool end =
      ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
  if (end) ERR_clear_error();
  return end;
}

// Notes the first thing wrong with the client's certificate, for the log.
void note_fault(int ok, X509_STORE_CTX* context) {
  if (ok == 1) return;
  const auto* ssl = static_cast<const SSL*>(
      X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx()));
  SessionState* state = ssl == nullptr ? nullptr : session_of(ssl);
  if (state != nullptr && state->verify_error == 0) {
    state->verify_error = X509_STORE_CTX_get_error(context);
  }
}

int verify_strictly(int ok, X509_STORE_CTX* context) {
  note_fault(ok, context);
  return ok;
}

int verify_any(int ok, X509_STORE_CTX* context) {
  note_fault(ok, context);
  return 1;
}

struct Verification {
  int mode;
  SSL_verify_cb callback;
};

Verification verification(ClientAuth mode) {
  switch (mode) {
    case ClientAuth::off: break;
    case ClientAuth::optional: return {SSL_VERIFY_PEER, verify_strictly};
    case ClientAuth::required:
      return {SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, verify_strictly};
    case ClientAuth::request_any: return {SSL_VERIFY_PEER, verify_any};
  }
  return {SSL_VERIFY_NONE, nullptr};
}

void add_to_digest(EVP_MD_CTX* context, std::string_view part) {
  std::array<uint8_t, 8> size{};
  store_be64(size.data(), part.size());
  EVP_DigestUpdate(context, size.data(), size.size());
  EVP_DigestUpdate(context, part.data(), part.size());
}

std::string digest_of(const ClientAuthSettings& s, std::string_view authorities,
                      const std::vector<std::string>& lists) {
  using ContextPtr = std::unique_ptr<EVP_MD_CTX, FreeWith<EVP_MD_CTX_free>>;
  const ContextPtr context(EVP_MD_CTX_new());
  std::string digest(EVP_MAX_MD_SIZE, '\0');
  unsigned size = 0;
  if (context == nullptr || EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) != 1) return {};
  add_to_digest(context.get(),
                std::format("{} {} {}", static_cast<int>(s.mode), s.depth, s.crl_files.size()));
  add_to_digest(context.get(), authorities);
  for (const std::string& list : lists) add_to_digest(context.get(), list);
  EVP_DigestFinal_ex(context.get(), reinterpret_cast<uint8_t*>(digest.data()), &size);
  digest.resize(size);
  return digest;
}

}  // namespace

ClientAuthority::~ClientAuthority() { sk_X509_NAME_pop_free(names_, X509_NAME_free); }

Result<void> ClientAuthority::add_authorities(std::string_view pem) {
  const BioPtr bio = memory(pem);
  size_t count = 0;
  clear_errors();
  while (true) {
    const X509Ptr certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    if (certificate == nullptr) {
      if (at_end()) break;
      return fail("{}: certificate {} in it cannot be read: {}", settings_.ca_file, count + 1,
                  take_openssl_error());
    }
    if (X509_STORE_add_cert(store_.get(), certificate.get()) != 1) {
      return fail("{}: {}", settings_.ca_file, take_openssl_error());
    }
    X509_NAME* name = X509_NAME_dup(X509_get_subject_name(certificate.get()));
    if (name == nullptr || sk_X509_NAME_push(names_, name) == 0) {
      X509_NAME_free(name);
      return fail("{}: {}", settings_.ca_file, take_openssl_error());
    }
    ++count;
  }
  if (count == 0) return fail("{} has no certificate in PEM form", settings_.ca_file);
  return {};
}

Result<void> ClientAuthority::add_revocation_list(const std::string& file, std::string_view bytes,
                                                  bool warn) {
  const bool pem = bytes.contains("-----BEGIN");
  const BioPtr bio = memory(bytes);
  size_t count = 0;
  clear_errors();
  while (pem || count == 0) {
    const CrlPtr list(pem ? PEM_read_bio_X509_CRL(bio.get(), nullptr, nullptr, nullptr)
                          : d2i_X509_CRL_bio(bio.get(), nullptr));
    if (list == nullptr) {
      if (pem && count > 0 && at_end()) break;
      return fail("{} is no certificate revocation list in PEM or DER: {}", file,
                  take_openssl_error());
    }
    const ASN1_TIME* next = X509_CRL_get0_nextUpdate(list.get());
    if (warn && next != nullptr && X509_cmp_current_time(next) < 0) {
      log::warning("tls",
                   "{}: the revocation list has expired: every client certificate of its issuer is "
                   "refused until there is a newer one and the configuration is reloaded",
                   file);
    }
    if (X509_STORE_add_crl(store_.get(), list.get()) != 1) {
      return fail("{}: {}", file, take_openssl_error());
    }
    ++count;
  }
  X509_STORE_set_flags(store_.get(), X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
  return {};
}

Result<std::shared_ptr<const ClientAuthority>> ClientAuthority::load(
    const ClientAuthSettings& settings, bool warn) {
  if (settings.mode == ClientAuth::off) return nullptr;
  std::shared_ptr<ClientAuthority> made(new ClientAuthority);
  made->settings_ = settings;
  made->store_.reset(X509_STORE_new());
  made->names_ = sk_X509_NAME_new_null();
  if (made->store_ == nullptr || made->names_ == nullptr) return fail("{}", take_openssl_error());
  // An issuing authority alone is enough: what stands in the file is trusted as it is.
  X509_STORE_set_flags(made->store_.get(), X509_V_FLAG_PARTIAL_CHAIN);
  std::string authorities;
  if (!settings.ca_file.empty()) {
    auto pem = read_file(settings.ca_file);
    if (!pem) return std::unexpected(pem.error());
    if (auto ok = made->add_authorities(*pem); !ok) return std::unexpected(ok.error());
    authorities = std::move(*pem);
  }
  std::vector<std::string> lists;
  for (const std::string& file : settings.crl_files) {
    auto bytes = read_file(file);
    if (!bytes) return std::unexpected(bytes.error());
    if (auto ok = made->add_revocation_list(file, *bytes, warn); !ok) {
      return std::unexpected(ok.error());
    }
    lists.push_back(std::move(*bytes));
  }
  made->digest_ = digest_of(settings, authorities, lists);
  if (made->digest_.empty()) return fail("SHA-256 is not to be had: {}", take_openssl_error());
  return made;
}

bool ClientAuthority::apply(SSL* ssl) const {
  const Verification v = verification(settings_.mode);
  SSL_set_verify(ssl, v.mode, v.callback);
  SSL_set_verify_depth(ssl, static_cast<int>(settings_.depth));
  SSL_set_max_cert_list(ssl, static_cast<long>(settings_.max_chain));
  if (SSL_set1_verify_cert_store(ssl, store_.get()) != 1) return false;
  if (!settings_.ca_names) {
    SSL_set0_CA_list(ssl, sk_X509_NAME_new_null());
    return true;
  }
  STACK_OF(X509_NAME)* names = SSL_dup_CA_list(names_);
  if (names == nullptr) return false;
  SSL_set0_CA_list(ssl, names);
  return true;
}

bool ClientAuthority::apply(SSL_CTX* context) const {
  const Verification v = verification(settings_.mode);
  SSL_CTX_set_verify(context, v.mode, v.callback);
  SSL_CTX_set_verify_depth(context, static_cast<int>(settings_.depth));
  SSL_CTX_set_max_cert_list(context, static_cast<long>(settings_.max_chain));
  if (SSL_CTX_set1_verify_cert_store(context, store_.get()) != 1) return false;
  if (!settings_.ca_names) return true;
  STACK_OF(X509_NAME)* names = SSL_dup_CA_list(names_);
  if (names == nullptr) return false;
  SSL_CTX_set0_CA_list(context, names);
  return true;
}

// ---- the settings ------------------------------------------------------------------------------

Problems validate_client_auth(const ClientAuthSettings& s) {
  Problems out;
  const auto without_effect = [&](const char* key) {
    out.push_back({key, "has no effect without client_auth",
                   "set client_auth = \"required\" or \"optional\"", "tls.client_auth"});
  };
  if (s.mode == ClientAuth::off) {
    if (!s.ca_file.empty()) without_effect("tls.client_ca");
    if (!s.crl_files.empty()) without_effect("tls.client_crls");
    return out;
  }
  if (s.ca_file.empty() && s.mode != ClientAuth::request_any) {
    out.push_back({"tls.client_ca", "is missing: clients' certificates must come from somebody",
                   "name a PEM file with the authorities' certificates", "tls.client_auth"});
  }
  if (s.ca_file.empty() && !s.crl_files.empty()) {
    out.push_back({"tls.client_crls", "has no effect without client_ca"});
  }
  check_count(out, "tls.client_depth", s.depth, 0, 10);
  check_size(out, "tls.client_max_chain", s.max_chain, 1024, 1024 * 1024);
  return out;
}

Problems check_client_auth_files(const ClientAuthSettings& s) {
  Problems out;
  if (s.mode == ClientAuth::off) return out;
  ClientAuthSettings one = s;
  one.crl_files.clear();
  if (auto loaded = ClientAuthority::load(one, false); !loaded) {
    out.push_back({"tls.client_ca", loaded.error().message});
    return out;
  }
  for (size_t i = 0; i < s.crl_files.size(); ++i) {
    one.crl_files = {s.crl_files[i]};
    if (auto loaded = ClientAuthority::load(one, false); !loaded) {
      out.push_back({entry_key("tls.client_crls", i), loaded.error().message});
    }
  }
  return out;
}

}  // namespace pqedge::crypto
