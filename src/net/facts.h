// What is known about a client connection: set once by accept and the handshake, read by all.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "net/address.h"

namespace pqedge::net {

enum class Transport : uint8_t { tcp, tls, quic, unix_socket };

// What became of a client's Encrypted Client Hello.
enum class EchUse : uint8_t {
  none,      // none was sent, or none is served
  accepted,  // the hello within counts
  refused,   // no key of ours opens it (GREASE, or a key since taken away): the outer hello counts
};

// The certificate whose key the client of a connection proved to hold (RFC 8446 4.4.2). The texts
// are printable ASCII and can stand in a header field: what else was in the certificate is escaped.
struct ClientCertificate {
  std::string subject;  // RFC 4514: "CN=alice,O=Example"
  std::string issuer;
  std::string serial;              // hexadecimal, upper case
  std::string fingerprint;         // SHA-256 of the certificate, hexadecimal, lower case
  std::string sans;                // "DNS:a.test, email:a@b.test, URI:spiffe://a/b, IP:192.0.2.1"
  std::vector<std::string> names;  // the same one by one, without their kind; DNS in lower case
  std::string der;                 // base64
  std::vector<std::string> chain;  // base64, as the client sent it, without the leaf
  int64_t not_after = 0;           // Unix seconds
  bool verified = false;           // chain, dates, revocation: as the policy has it
  std::string_view failure;        // why not; static
};

struct ConnectionFacts {
  Address peer;   // who connected (or, from a trusted PROXY header, who is behind it)
  Address local;  // the address it was accepted on
  Transport transport = Transport::tcp;
  uint64_t id = 0;  // unique in the process
  Nanos accepted_at = 0;

  // TLS, empty on plain connections. The names are static strings.
  std::string_view tls_version;  // "TLSv1.3"
  std::string_view group;        // "X25519MLKEM768"
  std::string_view cipher;       // "TLS_AES_256_GCM_SHA384"
  std::string_view signature;    // the scheme that the server signed with; empty when it resumed
  std::string_view alpn;         // "h2", "http/1.1", "h3"
  std::string sni;               // lower case, as judged by the ClientHello reader; may be empty
  uint64_t policy = 0;           // fingerprint of the TLS policy that this connection satisfied
  bool client_asked = false;     // the policy asks clients for a certificate
  std::shared_ptr<const ClientCertificate> client;  // null: the client showed none
  bool resumed = false;
  bool early_data = false;          // 0-RTT data came and was accepted
  bool early_data_refused = false;  // it was offered, and not looked at
  // The client's Finished has not come yet: what it says may be a replay (RFC 8470 3), and nothing
  // proves who it is.
  bool handshake_pending = false;
  bool post_quantum = false;          // the group is a hybrid or pure ML-KEM
  bool offered_post_quantum = false;  // the client's hello lists a group with ML-KEM
  bool hello_retry = false;           // the handshake took a HelloRetryRequest

  // Encrypted Client Hello (RFC 9849). Where it was accepted, `sni` is the inner, true name.
  EchUse ech = EchUse::none;
  std::string outer_sni;  // what could be read on the way, where it was accepted

  // What the handshake took: from the client's first byte to its Finished. Bytes of TLS records on
  // TCP (out: with the session ticket that leaves at once), of UDP payload on QUIC.
  Nanos handshake_time = 0;
  uint64_t handshake_in = 0;
  uint64_t handshake_out = 0;

  bool secure() const { return transport == Transport::tls || transport == Transport::quic; }
};

}  // namespace pqedge::net
