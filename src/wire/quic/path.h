// Addresses as ngtcp2 takes and gives them.
#pragma once

#include <ngtcp2/ngtcp2.h>

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

inline net::Address address_of(const ngtcp2_addr& a) {
  return net::Address::from_sockaddr(a.addr, a.addrlen);
}

}  // namespace pqedge::quic
