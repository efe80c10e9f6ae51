// Certificates and keys: loading, checking, choosing by name, and making one on the spot.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "crypto/settings.h"

namespace pqedge::crypto {

struct Certificate;  // certificates_internal.h: X509 chain and EVP_PKEY

// All certificates of one policy, immutable after load(), safe to share between workers.
class CertificateStore {
 public:
  // Reads every file. Errors name the file and what is wrong with it: missing, unreadable, not PEM,
  // a key that does not fit its certificate, expired, not yet valid (both warn and are kept).
  struct LoadOptions {
    bool strict_keys = false;  // a key that others than its owner can read is an error
    bool warn = true;          // in the log: of dates, of files' modes
  };
  static Result<std::shared_ptr<const CertificateStore>> load(
      const std::vector<CertificateSettings>& settings, LoadOptions options);
  static Result<std::shared_ptr<const CertificateStore>> load(
      const std::vector<CertificateSettings>& settings) {
    return load(settings, LoadOptions{});
  }
  // From PEM text, for the embedded default configuration and tests.
  static Result<std::shared_ptr<const CertificateStore>> from_pem(std::string_view chain_pem,
                                                                  std::string_view key_pem);
  virtual ~CertificateStore() = default;

  // The certificate for a lower-case host name: exact, then wildcard (one label, RFC 6125 6.4.3),
  // then the default. Never null: a store has at least one.
  virtual const Certificate& find(std::string_view host) const = 0;
  virtual size_t size() const = 0;
  // For logs and metrics: subject names and notAfter (Unix seconds) of each.
  struct Info {
    std::vector<std::string> names;
    std::string file;
    int64_t not_after;
  };
  virtual std::vector<Info> info() const = 0;
};

struct PemPair {
  std::string chain;
  std::string key;
};
// A self-signed ECDSA P-256 certificate for `names` (DNS names and IP literals), valid from an hour
// ago for at most 13 days (browsers pin such a one for WebTransport only below 14).
Result<PemPair> make_self_signed(const std::vector<std::string>& names, int days = 13);
// Base64 SHA-256 of the SubjectPublicKeyInfo of the first certificate in `chain_pem`.
Result<std::string> spki_hash(std::string_view chain_pem);

}  // namespace pqedge::crypto
