// The Online Certificate Status Protocol (RFC 6960), as a server needs it that staples responses:
// what to ask, whom, and whether an answer may be sent on.
#pragma once

#include <openssl/x509.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "crypto/handles.h"

namespace pqedge::crypto {

// A response goes into an extension of at most 64 KiB, beside timestamps.
inline constexpr size_t kMaxOcspResponse = 48 * 1024;
// What clocks may differ by.
inline constexpr int64_t kOcspClockSkew = 300;
// How long a response counts that does not say when the next comes (RFC 6960 4.2.2.1): clients give
// it a day.
inline constexpr int64_t kOcspDefaultLife = 86400;

// The http and https URLs of the certificate's authority information access, in its order; at most
// four. Empty: it names no responder.
std::vector<std::string> ocsp_responders(X509* leaf);

// Whether clients are to refuse the certificate without a stapled response (RFC 7633).
bool must_staple(X509* leaf);

// The issuer: the first intermediate, else one of the system's trusted certificates. Null: neither,
// or the certificate is self-signed.
X509Ptr find_issuer(X509* leaf, const STACK_OF(X509) * chain);

// The question, DER. Without a nonce: responders answer from what they signed before, and a staple
// is replayed anyway; its times say how fresh it is.
Result<std::string> make_ocsp_request(X509* leaf, X509* issuer);
// For GET (RFC 6960 A.1); empty when that is longer than 255 bytes, and POST is due.
std::string ocsp_get_url(std::string_view responder, std::string_view request);

enum class OcspStatus : uint8_t { good, revoked, unknown };
std::string_view name(OcspStatus status);

struct OcspAnswer {
  OcspStatus status = OcspStatus::unknown;
  int64_t this_update = 0;  // Unix seconds
  int64_t valid_until = 0;  // nextUpdate, or what kOcspDefaultLife makes of its absence
  int64_t revoked_at = 0;
  std::string reason;      // of a revocation, where it is given
  std::string timestamps;  // SignedCertificateTimestampList in it (RFC 6962 3.3), may be empty
};
// Reads a response and checks that it is about `leaf`, in force at `now` (Unix seconds), and signed
// by `issuer` or by one whom it delegated that to. Errors say what is wrong with it.
Result<OcspAnswer> read_ocsp_response(Bytes der, X509* leaf, X509* issuer, int64_t now);

}  // namespace pqedge::crypto
