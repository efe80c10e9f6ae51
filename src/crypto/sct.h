// Signed certificate timestamps (Certificate Transparency, RFC 6962): reading lists of them, and
// checking them against the logs that a list names.
#pragma once

#include <openssl/x509.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "crypto/handles.h"

namespace pqedge::crypto {

// A list goes into an extension beside an OCSP response (ocsp.h).
inline constexpr size_t kMaxTimestampList = 16 * 1024;

// One of a list; views into it.
struct SignedTimestamp {
  uint8_t version = 0;  // 0 is v1, the only one; of others nothing but `whole` is known
  Bytes log_id;         // SHA-256 of the log's key
  uint64_t time = 0;    // milliseconds since the Unix epoch
  Bytes extensions;
  uint8_t hash = 0;  // HashAlgorithm and SignatureAlgorithm of RFC 5246 7.4.1.4.1
  uint8_t algorithm = 0;
  Bytes signature;
  Bytes whole;
};
// A SignedCertificateTimestampList (RFC 6962 3.3), its length first. Strict: no trailing bytes, no
// empty list, at most kMaxTimestampList bytes.
Result<std::vector<SignedTimestamp>> parse_timestamps(Bytes list);
// The list of these, each a SerializedSCT without its length.
std::string make_timestamp_list(const std::vector<std::string>& timestamps);

// The list in the certificate's extension; empty: there is none, or it is no octet string.
std::string embedded_timestamps(X509* leaf);

struct TransparencyLog {
  std::string name;  // its description
  std::string url;   // where certificates are submitted, with a '/' at its end
  std::string id;    // 32 bytes
  KeyPtr key;
};

// The logs of a file in the JSON form (version 3) that browsers publish. Immutable.
class LogList {
 public:
  static Result<std::shared_ptr<const LogList>> parse(std::string_view json);
  static Result<std::shared_ptr<const LogList>> load(const std::string& file);
  const TransparencyLog* find(Bytes id) const;
  const TransparencyLog* find_url(std::string_view url) const;
  const std::vector<TransparencyLog>& all() const { return logs_; }

 private:
  std::vector<TransparencyLog> logs_;
};

// Where a timestamp came from decides what its log signed: the certificate without the timestamps
// (and its issuer's key), or the certificate as it is.
enum class TimestampSource : uint8_t { certificate, ocsp_response, file };
std::string_view name(TimestampSource source);

enum class TimestampVerdict : uint8_t { good, unknown_log, bad_signature, future, unknown_version };
// `issuer` is needed for timestamps in the certificate alone; without it they are bad_signature.
// `now`: Unix seconds.
TimestampVerdict check_timestamp(const SignedTimestamp& timestamp, TimestampSource source,
                                 X509* leaf, X509* issuer, const LogList& logs, int64_t now);

// What is to be said of a list of timestamps.
struct TimestampReport {
  TimestampSource source = TimestampSource::certificate;
  size_t count = 0;
  size_t good = 0;  // signed by a log of the list
  size_t unknown = 0;
  std::vector<std::string> logs;      // names of the good ones' logs
  std::vector<std::string> problems;  // text for the log
};
// `logs` may be null: then only the form is looked at.
TimestampReport report_timestamps(Bytes list, TimestampSource source, X509* leaf, X509* issuer,
                                  const LogList* logs, int64_t now);

// What a log is sent (add-chain, RFC 6962 4.1): certificates in DER, the leaf first.
std::string add_chain_request(const std::vector<std::string>& chain);
// And its answer, as a SerializedSCT. Nothing is checked but the form.
Result<std::string> read_add_chain_answer(std::string_view json);

}  // namespace pqedge::crypto
