// One connection's qlog (draft-ietf-quic-qlog-main-schema, JSON text sequences), for debugging.
#pragma once

#include <memory>
#include <string>

#include "base/bytes.h"
#include "net/socket.h"

namespace pqedge::quic {

// Writes on the worker's thread: it is switched on by hand, for the connections of one client.
class Qlog {
 public:
  // DIRECTORY/ID.sqlog, mode 0600. Null, with a line in the log, when it cannot be made.
  static std::unique_ptr<Qlog> open(const std::string& directory, Bytes connection_id);
  void write(Bytes bytes);

 private:
  explicit Qlog(net::Fd fd) : fd_(std::move(fd)) {}
  net::Fd fd_;
};

}  // namespace pqedge::quic
