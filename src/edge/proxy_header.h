// The start of a connection that comes through a balancer: a PROXY header, before anything else.
#pragma once

#include <string_view>

#include "net/loop.h"
#include "net/socket.h"
#include "wire/proxy_protocol/header.h"

namespace pqedge::edge {

class ProxyHeaderHandler {
 public:
  // The header was taken off the socket; the next byte is the client's. Destroy the reader.
  virtual void on_proxy_header(net::Fd fd, const proxy_protocol::Header& header) = 0;
  // No header, or one that cannot be believed. Destroy the reader, and the connection with it.
  virtual void on_proxy_failed(std::string_view why) = 0;

 protected:
  ~ProxyHeaderHandler() = default;
};

// Looks at what has come without taking it, until the header is whole: whatever follows it stays in
// the socket for the TLS or HTTP of the connection. The caller runs the timer.
class ProxyHeaderReader final : private net::EventSource {
 public:
  ProxyHeaderReader(net::Loop& loop, net::Fd fd, ProxyHeaderHandler& handler);
  ~ProxyHeaderReader();
  Result<void> start();

 private:
  void on_events(uint32_t events) override;

  net::Loop& loop_;
  net::Fd fd_;
  ProxyHeaderHandler& handler_;
};

}  // namespace pqedge::edge
