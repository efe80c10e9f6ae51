// Datagrams that may be for somebody else: a listener's socket can be shared with connections that
// are passed on without being decrypted.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "net/address.h"
#include "wire/quic/keys.h"

namespace pqedge::quic {

// Asked for each datagram whose connection ID belongs to no connection here. Calls may not destroy
// the endpoint.
class DatagramFilter {
 public:
  // True: the datagram was passed on, or kept (a copy), or dropped. `id` is its Destination
  // Connection ID: of a long header as it stands there, of a short one our own length, whatever the
  // sender's is. `handed_over`: by another worker, so that it may not be handed on.
  virtual bool take(const ReceivedDatagram& datagram, Bytes id, bool handed_over) = 0;
  // The bytes of what take() saw so far are about to be used again.
  virtual void end_of_batch() = 0;
  // The socket takes datagrams again, after send_datagram() was refused.
  virtual void on_room() = 0;

 protected:
  ~DatagramFilter() = default;
};

}  // namespace pqedge::quic
