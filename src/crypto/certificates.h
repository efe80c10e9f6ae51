// Certificates and keys: loading, checking, choosing by name, and making one on the spot.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "crypto/settings.h"
#include "crypto/signature_schemes.h"

namespace pqedge::crypto {

struct Certificate;  // certificates_internal.h: X509 chain, EVP_PKEY, and what is stapled to them
using CertificateRef = std::shared_ptr<const Certificate>;

// A set of certificates, immutable, safe to share between workers. What changes is in
// edge/certificate_keeper.h, which makes a new store and gives it to the workers.
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
  // Of certificates made elsewhere. The default is the first that is marked so, else the first that
  // is no challenge; without any the store is empty and find() and choose() return null.
  static std::shared_ptr<const CertificateStore> make(std::vector<CertificateRef> certificates);
  virtual ~CertificateStore() = default;

  struct Query {
    std::string_view host;  // lower case; may be empty
    ClientSignatures client;
    bool avoid_slow = false;  // no signature that takes long, if there is another
  };
  // The certificate for a host: of those for its exact name, else its wildcard (one label, RFC 6125
  // 6.4.3), else the default's names, the strongest that the client can verify, key and chain.
  // Where it can verify none whole: one whose key it can (RFC 8446 4.4.2.2), else the first. Null
  // only in an empty store.
  virtual const CertificateRef& choose(const Query& query) const = 0;
  // The first for a host, whatever the client can verify.
  virtual const CertificateRef& find(std::string_view host) const = 0;
  // Whether one names the host, exactly or by wildcard (not: whether the default would be served).
  virtual bool covers(std::string_view host) const = 0;
  // Of tls-alpn-01 (RFC 8737), for the ALPN "acme-tls/1" alone; null: there is none.
  virtual const CertificateRef& find_challenge(std::string_view host) const = 0;
  virtual size_t size() const = 0;
  virtual const std::vector<CertificateRef>& all() const = 0;
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
