// Client certificates: whom they must come from, and what they say.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/problem.h"
#include "base/result.h"
#include "crypto/handles.h"
#include "crypto/settings.h"
#include "net/facts.h"

namespace pqedge::crypto {

using X509StorePtr = std::unique_ptr<X509_STORE, FreeWith<X509_STORE_free>>;

// The authorities and revocation lists of a policy that asks clients for a certificate. Immutable,
// shared by all workers.
class ClientAuthority {
 public:
  // Null where `settings` do not ask. Errors name the file. `warn`: in the log, of a revocation
  // list that has expired (all certificates of its issuer are refused then).
  static Result<std::shared_ptr<const ClientAuthority>> load(const ClientAuthSettings& settings,
                                                             bool warn = true);
  ~ClientAuthority();
  ClientAuthority(const ClientAuthority&) = delete;
  ClientAuthority& operator=(const ClientAuthority&) = delete;

  bool apply(SSL* ssl) const;
  bool apply(SSL_CTX* context) const;
  ClientAuth mode() const { return settings_.mode; }
  // SHA-256 of all files' bytes and of the settings.
  const std::string& digest() const { return digest_; }

 private:
  ClientAuthority() = default;
  Result<void> add_authorities(std::string_view pem);
  Result<void> add_revocation_list(const std::string& file, std::string_view bytes, bool warn);

  ClientAuthSettings settings_;
  X509StorePtr store_;
  STACK_OF(X509_NAME) * names_ = nullptr;
  std::string digest_;
};

// What the policy's files, and settings that only make sense together, have wrong with them. Keys
// are "tls.client_...".
Problems validate_client_auth(const ClientAuthSettings& settings);
// Of the files: keys "tls.client_ca", "tls.client_crls[N]".
Problems check_client_auth_files(const ClientAuthSettings& settings);

// Of a connection whose handshake is done; null when the client showed none.
std::shared_ptr<const net::ClientCertificate> read_client_certificate(const SSL* ssl);
// The same from a certificate alone; for tests and the fuzzer.
std::shared_ptr<net::ClientCertificate> describe_certificate(X509* certificate);
// Why a certificate was not accepted, in a few words; static. Empty for X509_V_OK.
std::string_view verify_failure(int error);

}  // namespace pqedge::crypto
