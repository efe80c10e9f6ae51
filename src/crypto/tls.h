// TLS toward clients: one policy, two contexts a worker, streams over TCP.
#pragma once

#include <openssl/ssl.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "crypto/handshake_pause.h"
#include "crypto/settings.h"
#include "crypto/signature_schemes.h"
#include "net/facts.h"
#include "net/stream.h"

namespace pqedge::crypto {

class TicketKeyRing;     // tickets.h: one for the process, shared by all workers and reloads
struct Certificate;      // certificates_internal.h
class CertificateStore;  // certificates.h: immutable; loaded and checked once a configuration
class KeyLog;            // keylog.h: for debugging, secrets of one client address
class PolicySet;  // host_policy.h: the default policy and those of hosts; shared by all workers
struct HostPolicy;

// The contexts of one worker for one policy. Not shared between threads (OpenSSL's contexts lock).
// Reload makes new ones; connections keep what they were made from.
class ServerContexts {
 public:
  // `store` was loaded from `settings.certificates`, `policies` from `settings` and what hosts have
  // of their own; without them every host has the policy of `settings`. Errors name the setting and
  // the file. Without `services` no handshake pauses.
  static Result<std::shared_ptr<ServerContexts>> create(
      const TlsSettings& settings, std::shared_ptr<const CertificateStore> store,
      std::shared_ptr<TicketKeyRing> tickets, std::shared_ptr<const KeyLog> keylog = nullptr,
      std::shared_ptr<const PolicySet> policies = nullptr, HandshakeServices services = {});
  virtual ~ServerContexts() = default;

  virtual SSL_CTX* tcp() const = 0;
  virtual SSL_CTX* quic() const = 0;
  virtual const TlsSettings& settings() const = 0;
  // On the worker's thread: what handshakes find from now on.
  virtual void set_certificates(std::shared_ptr<const CertificateStore> store) = 0;
};

// RFC 8737 6.2: what a CA names when it looks at a challenge; never what a listener offers.
inline constexpr std::string_view kAcmeProtocol = "acme-tls/1";

// ALPN identifiers a listener offers, best first, as the names of RFC 7301 ("h2", "http/1.1").
using AlpnList = std::vector<std::string>;

// How the ClientHello was judged. All but `accepted` end the handshake.
enum class HelloVerdict : uint8_t {
  none,  // not seen yet
  accepted,
  malformed,        // the strict reader refused it: decode_error
  bad_server_name,  // illegal_parameter
  changed,          // the hello after a HelloRetryRequest names another host: illegal_parameter
  no_protocol,      // no ALPN where it is needed: no_application_protocol
  no_parameters,    // no transport parameters over QUIC (RFC 9001 8.2): missing_extension
  policy_failed,    // the policy of the host could not be put in place: internal_error
  classical,        // no post-quantum group in common, which the policy refuses
};

// Whether the handshake is signed by another thread (handshake_step.h).
enum class Signing : uint8_t {
  here,     // on the worker, which is the rule
  wanted,   // paused in the certificate callback, with a place in the queue
  granted,  // the callback lets the handshake go on: on a signing thread
  refused,  // no room, or the deadline passed: no slow certificate
};

// What was said of early data that a client offered (early_data.h).
enum class EarlyDataVerdict : uint8_t {
  none,  // none was offered, or it could not even be asked (no session, another name or protocol)
  accepted,
  off,             // the policy of the host takes none
  client_auth,     // clients show certificates here, or the session has one
  foreign_ticket,  // of another process, whose used tickets are not known here
  changed,         // another server name, or limits that are no longer those the client remembers
  replayed,        // the ticket was used before
  full,            // no room to remember another ticket
};

// Where the callbacks of both contexts put what they learn (SNI, ALPN, groups). Attached to each
// SSL with attach_session() before the handshake; must outlive the SSL's handshake.
//
// While a slow signature is made by another thread, the SSL has a copy of it: callbacks of the
// server's flight reach nothing else of the connection.
struct SessionState {
  net::ConnectionFacts* facts = nullptr;
  const AlpnList* alpn = nullptr;
  PausePoint* pause = nullptr;  // null: the handshake cannot pause

  // From the first ClientHello; facts->sni and facts->offered_post_quantum are set with it.
  HelloVerdict hello = HelloVerdict::none;
  bool sent_alpn = false;
  bool outer_sent_alpn = false;       // of an Encrypted Client Hello: the outer one's
  bool sent_quic_parameters = false;  // in the latest hello
  // Of the host that the hello asks for, from the first hello on; the default's until then. Belongs
  // to the contexts.
  const HostPolicy* policy = nullptr;
  bool policy_in_place = false;  // on the SSL
  ClientSignatures signatures;   // what the client can verify
  // The hello offers "acme-tls/1" alone, and there is a challenge for its name (RFC 8737).
  bool acme_challenge = false;
  Signing signing = Signing::here;
  std::shared_ptr<SlowSigner::Place> place;  // with Signing::wanted
  // A certificate was asked for (CertificateRequester); 2: its answer has come.
  uint8_t requested = 0;
  int verify_error = 0;  // X509_V_ERR_...: the first thing wrong with the client's certificate

  // What on_certificate.cc put on the SSL, and what the client takes beside it
  // (certificate_extras.h).
  std::shared_ptr<const Certificate> certificate;
  bool wants_timestamps = false;      // signed_certificate_timestamp, RFC 6962 3.3
  uint8_t certificate_encodings = 0;  // compress_certificate, RFC 8879: a bit (1 << code)
  bool compressed = false;            // it is sent in one of them

  // Tickets and 0-RTT (on_ticket.h, early_data.h).
  std::array<uint8_t, 16> ticket_id{};  // of the ticket that was opened last
  bool ticket_opened = false;
  // Of what a client remembers of this endpoint beside the session (RFC 9000 7.4.1, RFC 9114
  // 7.2.4.2): its early data is good for the same only.
  std::array<uint8_t, 16> endpoint_digest{};
  EarlyDataVerdict early_data = EarlyDataVerdict::none;
};
void attach_session(SSL* ssl, SessionState* state);
// After the handshake: group, cipher, version, ALPN, policy, resumption into `facts`.
void read_facts(SSL* ssl, net::ConnectionFacts& facts);
// Counts a handshake that has completed (by group, version, transport, signature, resumption, early
// data, retry; its time and bytes), and logs a classical one where the policy asks for that.
// `facts` are complete.
void note_handshake(const SSL* ssl, const net::ConnectionFacts& facts);
// Counts a handshake that ended without SSL_do_handshake() failing.
enum class HandshakeEnd : uint8_t { timeout, client_alert, client_closed };
void note_handshake_end(HandshakeEnd end);
// Why SSL_do_handshake() failed (SSL_ERROR_SSL), for the log; counts it by kind and empties the
// thread's error queue. `closed`: the peer ended the connection instead.
Error handshake_failure(const SessionState& state, bool closed);

class HandshakeHandler {
 public:
  // facts() are complete, set the stream's handler now; bytes may be waiting to be read.
  virtual void on_handshake_done() = 0;
  // After an on_handshake_done() with facts().handshake_pending: the client's Finished has come,
  // and the facts say so. Called by the loop alone.
  virtual void on_handshake_confirmed() {}
  // The peer was told (alert) where that was possible. Destroy the stream.
  virtual void on_handshake_failed(const Error& error) = 0;

 protected:
  ~HandshakeHandler() = default;
};

// A TLS server stream over an accepted socket. `facts`, `alpn` and `handler` must outlive it. The
// handshake starts when the first bytes come. The caller runs the handshake timer. `ahead`: bytes
// of the client that were read from the socket already, in a chunk that nobody else writes to.
std::unique_ptr<net::Stream> make_tls_server_stream(net::Loop& loop, net::Fd fd,
                                                    std::shared_ptr<ServerContexts> contexts,
                                                    net::ConnectionFacts& facts,
                                                    const AlpnList& alpn, HandshakeHandler& handler,
                                                    Slice ahead = {});

}  // namespace pqedge::crypto
