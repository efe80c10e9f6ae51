// Why a handshake failed, in a few kinds that an operator can act on.
#include <openssl/err.h>
#include <openssl/sslerr.h>

#include <array>

#include "base/counters.h"
#include "crypto/client_authority.h"
#include "crypto/handles.h"
#include "crypto/tls.h"

namespace pqedge::crypto {
namespace {

enum class Kind : uint8_t {
  plain_http,
  not_tls,
  version,
  cipher,
  group,
  signature,
  protocol,
  server_name,
  classical,
  no_client_certificate,
  bad_client_certificate,
  bad_hello,
  client_alert,
  bad_record,
  client_closed,
  timeout,
  other,
};

struct KindText {
  std::string_view label;
  std::string_view text;
};

// In the order of Kind.
constexpr KindText kKinds[] = {
    {"plain_http", "a plain HTTP request on a TLS port"},
    {"not_tls", "the client does not speak TLS"},
    {"unsupported_version", "no TLS version in common"},
    {"no_shared_cipher", "no cipher suite in common"},
    {"no_shared_group", "no key-exchange group in common"},
    {"no_shared_signature", "the client can verify no signature that the certificate's key makes"},
    {"no_application_protocol", "no application protocol (ALPN) in common"},
    {"bad_server_name", "the server name (SNI) is not a host name, or changed after a retry"},
    {"classical",
     "the client offers no post-quantum group that is served, and the policy refuses it"},
    {"no_client_certificate", "the client showed no certificate, which the policy requires"},
    {"bad_client_certificate", "the client's certificate is not accepted"},
    {"bad_hello", "the ClientHello is malformed"},
    {"client_alert", "the client sent an alert"},
    {"bad_record", "a record or message that cannot be decrypted or read"},
    {"client_closed", "the client went away during the handshake"},
    {"timeout", "the handshake took too long"},
    {"other", "the handshake failed"},
};
static_assert(std::size(kKinds) == static_cast<size_t>(Kind::other) + 1);

struct ReasonKind {
  int reason;
  Kind kind;
};

constexpr ReasonKind kReasons[] = {
    {SSL_R_HTTP_REQUEST, Kind::plain_http},
    {SSL_R_HTTPS_PROXY_REQUEST, Kind::plain_http},
    {SSL_R_WRONG_VERSION_NUMBER, Kind::not_tls},
    {SSL_R_BAD_RECORD_TYPE, Kind::not_tls},
    {SSL_R_UNKNOWN_PROTOCOL, Kind::version},
    {SSL_R_UNSUPPORTED_PROTOCOL, Kind::version},
    {SSL_R_WRONG_SSL_VERSION, Kind::version},
    {SSL_R_VERSION_TOO_LOW, Kind::version},
    {SSL_R_VERSION_TOO_HIGH, Kind::version},
    {SSL_R_NO_SHARED_CIPHER, Kind::cipher},
    {SSL_R_NO_SUITABLE_KEY_SHARE, Kind::group},
    {SSL_R_NO_SUITABLE_GROUPS, Kind::group},
    {SSL_R_NO_SHARED_GROUPS, Kind::group},
    {SSL_R_MISSING_SUPPORTED_GROUPS_EXTENSION, Kind::group},
    {SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM, Kind::signature},
    {SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS, Kind::signature},
    {SSL_R_NO_APPLICATION_PROTOCOL, Kind::protocol},
    {SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE, Kind::no_client_certificate},
    {SSL_R_CERTIFICATE_VERIFY_FAILED, Kind::bad_client_certificate},
    {SSL_R_BAD_EXTENSION, Kind::bad_hello},
    {SSL_R_BAD_KEY_SHARE, Kind::bad_hello},
    {SSL_R_LENGTH_MISMATCH, Kind::bad_hello},
    {SSL_R_LENGTH_TOO_SHORT, Kind::bad_hello},
    {SSL_R_MISSING_SIGALGS_EXTENSION, Kind::bad_hello},
    {SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC, Kind::bad_record},
    {SSL_R_BAD_LENGTH, Kind::bad_record},
    {SSL_R_PACKET_LENGTH_TOO_LONG, Kind::bad_record},
    {SSL_R_ENCRYPTED_LENGTH_TOO_LONG, Kind::bad_record},
    {SSL_R_RECORD_LENGTH_MISMATCH, Kind::bad_record},
    {SSL_R_EXCESSIVE_MESSAGE_SIZE, Kind::bad_record},
    {SSL_R_UNEXPECTED_MESSAGE, Kind::bad_record},
    {SSL_R_UNEXPECTED_RECORD, Kind::bad_record},
    {SSL_R_DIGEST_CHECK_FAILED, Kind::bad_record},
    {SSL_R_UNEXPECTED_EOF_WHILE_READING, Kind::client_closed},
};

Kind kind_of_verdict(HelloVerdict verdict) {
  switch (verdict) {
    case HelloVerdict::malformed:
    case HelloVerdict::no_parameters: return Kind::bad_hello;
    case HelloVerdict::bad_server_name:
    case HelloVerdict::changed: return Kind::server_name;
    case HelloVerdict::no_protocol: return Kind::protocol;
    case HelloVerdict::classical: return Kind::classical;
    case HelloVerdict::none:
    case HelloVerdict::accepted:
    case HelloVerdict::policy_failed: break;
  }
  return Kind::other;
}

Kind kind_of_error(unsigned long error) {
  if (ERR_GET_LIB(error) != ERR_LIB_SSL) return Kind::other;
  const int reason = ERR_GET_REASON(error);
  if (reason >= SSL_AD_REASON_OFFSET) return Kind::client_alert;
  for (const ReasonKind& known : kReasons) {
    if (known.reason == reason) return known.kind;
  }
  return Kind::other;
}

struct FailureCounters {
  std::array<counters::Counter, std::size(kKinds)> by_kind;
  FailureCounters() {
    for (size_t i = 0; i < by_kind.size(); ++i) {
      by_kind[i] = counters::Counter("pqedge_tls_handshake_failures_total",
                                     "TLS handshakes that failed, by reason",
                                     {{"reason", std::string(kKinds[i].label)}});
    }
  }
};
const FailureCounters failure_counters;

}  // namespace

void note_handshake_end(HandshakeEnd end) {
  const Kind kind = end == HandshakeEnd::timeout        ? Kind::timeout
                    : end == HandshakeEnd::client_alert ? Kind::client_alert
                                                        : Kind::client_closed;
  failure_counters.by_kind[static_cast<size_t>(kind)].add();
}

Error handshake_failure(const SessionState& state, bool closed) {
  const unsigned long error = ERR_peek_error();  // the first one says what began it
  Kind kind = kind_of_verdict(state.hello);
  if (closed) {
    kind = Kind::client_closed;
  } else if (kind == Kind::other) {
    kind = kind_of_error(error);
  }
  const auto index = static_cast<size_t>(kind);
  failure_counters.by_kind[index].add();
  std::string text(kKinds[index].text);
  const char* reason = error == 0 ? nullptr : ERR_reason_error_string(error);
  if (kind == Kind::bad_client_certificate && state.verify_error != 0) {
    text.append(": ").append(verify_failure(state.verify_error));
  }
  if (!closed && reason != nullptr) text.append(" (").append(reason).append(")");
  ERR_clear_error();
  return Error{std::move(text), 0};
}

}  // namespace pqedge::crypto
