// Readers of what a server sends: its first flight in the clear, and messages and extensions that a
// TLS library hands over whole. Strict about lengths, bounded in memory, for hostile servers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "crypto/handshake_messages.h"

namespace pqedge::probe {

enum class Outcome : uint8_t {
  hello,        // a ServerHello
  retry,        // a HelloRetryRequest
  alert,        // a fatal alert instead
  closed,       // the end of the connection instead
  reset,        // the connection broke
  timeout,      // nothing within the time
  garbage,      // bytes that are no TLS, or a hello that cannot be read
  unconnected,  // no connection came about
};
std::string_view outcome_name(Outcome outcome);

struct Answer {
  Outcome outcome = Outcome::unconnected;
  uint8_t alert = 0;
  crypto::ServerHello hello;  // of `hello` and `retry`
  std::string detail;         // for a person

  bool negotiated() const { return outcome == Outcome::hello || outcome == Outcome::retry; }
};

// Takes the server's bytes up to the first thing that settles the question.
class FlightReader {
 public:
  static constexpr size_t kMaxBytes = 64 * 1024;  // before a ServerHello

  // True once the answer is known.
  bool take(Bytes bytes);
  // The connection ended, broke or was silent too long.
  Answer end(Outcome how) const;
  const Answer& answer() const { return answer_; }

 private:
  bool settle(Outcome outcome, std::string detail);

  crypto::RecordReader records_;
  size_t bytes_ = 0;
  Answer answer_;
};

// The body of an extension in an EncryptedExtensions message (RFC 8446 4.3.1).
std::optional<Bytes> find_encrypted_extension(Bytes message, uint16_t type);

// What the entries of a Certificate message carry beside the certificates (RFC 8446 4.4.2.1).
struct CertificateExtras {
  size_t staple = 0;  // bytes of the leaf's OCSP response
  size_t scts = 0;    // of the leaf, in the extension
};
Result<CertificateExtras> read_certificate_extras(Bytes message);

// The value of Alt-Svc in the head of an HTTP/1.1 response, empty if there is none.
std::string find_alt_svc(std::string_view head);
// Whether it names HTTP/3 (RFC 7838 3), and on which port (0: none).
uint16_t http3_port(std::string_view alt_svc);

}  // namespace pqedge::probe
