// A UDP socket with one peer: that peer tells its flows apart by their addresses.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/result.h"
#include "net/address.h"
#include "net/socket.h"

namespace pqedge::net {

class ConnectedUdp {
 public:
  // Datagrams that wait to be read take at most about `receive_buffer` bytes of the kernel.
  static Result<ConnectedUdp> open(const Address& peer, int receive_buffer);

  int fd() const { return socket_.fd.get(); }
  const Address& local() const { return local_; }

  // Sends datagrams of `segment` bytes each, the last perhaps shorter, in one call where the kernel
  // can (GSO). `ecn`: the two bits of the IP header. Returns 0, or the errno of the last one that
  // was refused: it is lost then, as on any full path.
  int send(Bytes bytes, size_t segment, uint8_t ecn);
  // One datagram of both parts. It may be fragmented where it is too long for the path.
  int send_joined(Bytes first, Bytes second, uint8_t ecn);

 private:
  ConnectedUdp(UdpSocket socket, const Address& local, bool v6)
      : socket_(std::move(socket)), local_(local), v6_(v6) {}
  int send_message(Bytes first, Bytes second, size_t segment, uint8_t ecn) const;
  void set_fragmenting(bool allowed) const;

  UdpSocket socket_;
  Address local_;
  bool v6_;
};

}  // namespace pqedge::net
