// The start of a TLS connection on a listener that passes some names on: the hello is read, whole,
// before it is decided who answers it.
#pragma once

#include <string>
#include <string_view>

#include "base/chunk.h"
#include "crypto/hello_records.h"
#include "net/loop.h"
#include "net/socket.h"

namespace pqedge::edge {

class HelloReaderHandler {
 public:
  // The host that the client asks for, in lower case; empty where it names none, or where no hello
  // can be read, which then is TLS's to refuse. `bytes` were taken off the socket; the next byte is
  // the one after them. Destroy the reader.
  virtual void on_hello(net::Fd fd, Slice bytes, std::string host) = 0;
  // A hello that must not be answered (the client was told), or a connection that broke. Destroy
  // the reader, and the connection with it.
  virtual void on_hello_failed(std::string_view why) = 0;

 protected:
  ~HelloReaderHandler() = default;
};

// The caller runs the timer.
class HelloReader final : private net::EventSource {
 public:
  HelloReader(net::Loop& loop, net::Fd fd, HelloReaderHandler& handler);
  ~HelloReader();
  Result<void> start();

 private:
  void on_events(uint32_t events) override;
  bool read_more();
  void finish(std::string host);
  void refuse(uint8_t alert, std::string_view why);

  net::Loop& loop_;
  net::Fd fd_;
  HelloReaderHandler& handler_;
  ChunkRef chunk_;  // from the first byte on
  size_t size_ = 0;
  bool ended_ = false;
  int error_ = 0;
  crypto::HelloRecords records_;
};

}  // namespace pqedge::edge
