// Writes the TLS secrets of one client's connections in the SSLKEYLOGFILE format, for debugging.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/address.h"
#include "net/socket.h"

namespace pqedge::crypto {

// Thread safe. Whoever reads the file reads the traffic: it is made with mode 0600.
class KeyLog {
 public:
  // `client`: the one IP address whose connections are written.
  static Result<std::shared_ptr<const KeyLog>> open(std::string_view client,
                                                    const std::string& file);
  void write(const net::Address& peer, std::string_view line) const;

 private:
  KeyLog(net::Address client, net::Fd fd) : client_(client), fd_(std::move(fd)) {}
  net::Address client_;
  net::Fd fd_;
};

}  // namespace pqedge::crypto
