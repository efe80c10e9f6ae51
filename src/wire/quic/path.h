// Addresses as ngtcp2 takes and gives them.
#pragma once

#include <ngtcp2/ngtcp2.h>

#include <array>
#include <cstdint>

#include "net/address.h"

namespace pqedge::quic {

// The room for a server ID in connection IDs is not in use yet: all instances are server 0.
inline constexpr uint32_t kServerId = 0;

// Points into the two addresses; ngtcp2 copies what it keeps.
inline ngtcp2_path path_of(const net::Address& local, const net::Address& peer) {
  return {.local = {.addr = const_cast<sockaddr*>(local.data()), .addrlen = local.size()},
          .remote = {.addr = const_cast<sockaddr*>(peer.data()), .addrlen = peer.size()},
          .user_data = nullptr};
}

// Sizes of datagrams to try once the handshake is done (RFC 8899, RFC 9000 14.3): what Ethernet
// carries over IPv6 first, since a size that arrives ends the search. The library's own order needs
// two probes there, which is a datagram and an acknowledgement more in every short connection.
inline void fill_path_probes(ngtcp2_settings& settings) {
  static constexpr std::array<uint16_t, 4> kSizes = {1452, 1406, 1342, 1232};
  settings.max_tx_udp_payload_size = kSizes.front();
  settings.pmtud_probes = kSizes.data();
  settings.pmtud_probeslen = kSizes.size();
}

inline net::Address address_of(const ngtcp2_addr& a) {
  return net::Address::from_sockaddr(a.addr, a.addrlen);
}

}  // namespace pqedge::quic
