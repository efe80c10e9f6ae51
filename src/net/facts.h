// What is known about a client connection: set once by accept and the handshake, read by all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"
#include "net/address.h"

namespace pqedge::net {

enum class Transport : uint8_t { tcp, tls, quic, unix_socket };

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
  std::string_view alpn;         // "h2", "http/1.1", "h3"
  std::string sni;               // lower case, as judged by the ClientHello reader; may be empty
  uint32_t policy = 0;           // the id of the TLS policy that this connection satisfied
  bool resumed = false;
  bool early_data = false;       // the request came as 0-RTT
  bool post_quantum = false;     // the group is a hybrid or pure ML-KEM
  bool offered_post_quantum = false;  // the client's hello lists a group with ML-KEM

  bool secure() const { return transport == Transport::tls || transport == Transport::quic; }
};

}  // namespace pqedge::net
