// The application on a QUIC connection, of either end.
#pragma once

#include <cstdint>
#include <string_view>

#include "wire/quic/stream.h"

namespace pqedge::quic {

// It lives until on_connection_closed().
class ConnectionHandler {
 public:
  // Of a server, after an on_connection() with facts().handshake_pending: the client's Finished has
  // come, and the connection's facts say so.
  virtual void on_handshake_confirmed() {}
  // The peer opened a stream: make its object, or return null to refuse the stream (both directions
  // are reset with `code`).
  virtual Stream* make_stream(int64_t id, uint64_t& code) = 0;
  // The datagrams of this turn were taken apart: now is the time to act on what they brought.
  virtual void on_received() = 0;
  // Packets are about to be written: add what should ride along.
  virtual void before_send() = 0;
  // The connection is over, whoever ended it: no call may reach it or its streams any more. Comes
  // outside of all other calls. `reason` is static text, empty for an ordinary end by the peer.
  virtual void on_connection_closed(std::string_view reason) = 0;

 protected:
  ~ConnectionHandler() = default;
};

}  // namespace pqedge::quic
