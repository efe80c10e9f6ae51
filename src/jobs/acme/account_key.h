// The account's key and what it signs: JWS with ES256 (RFC 7515, RFC 7518 3.4).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "crypto/handles.h"

namespace pqedge::acme {

class AccountKey {
 public:
  static Result<AccountKey> generate();
  static Result<AccountKey> from_pem(std::string_view pem, const std::string& file);
  // Wiped by the caller once it is written.
  Result<std::string> to_pem() const;

  // With the members in the order of RFC 7638 3.2, so that its hash is the thumbprint.
  const std::string& jwk() const { return jwk_; }
  const std::string& thumbprint() const { return thumbprint_; }
  // A flattened JWS (RFC 7515 7.2.2). `header` and `payload` are JSON; an empty payload is that of
  // POST-as-GET (RFC 8555 6.3).
  Result<std::string> sign(std::string_view header, std::string_view payload) const;

 private:
  explicit AccountKey(crypto::KeyPtr key) : key_(std::move(key)) {}
  Result<void> describe();

  crypto::KeyPtr key_;
  std::string jwk_;
  std::string thumbprint_;
};

// RFC 8555 7.3.4: the account's key, vouched for with the MAC key of an account elsewhere (HS256).
std::string external_account_binding(std::string_view key_id, std::string_view mac_key,
                                     std::string_view url, std::string_view jwk);

std::string sha256(std::string_view text);  // 32 bytes

}  // namespace pqedge::acme
