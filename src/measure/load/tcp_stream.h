// A non-blocking TCP connection, in TLS or in the clear, that pays one system call a turn and
// direction.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/result.h"
#include "measure/load/connection.h"
#include "measure/load/handles.h"
#include "net/socket.h"

namespace pqedge::measure::load {

// Local address number `turn` of the run bound to a new socket, when there are any.
Result<void> bind_local(const Context& context, int socket, size_t turn);

class TcpStream {
 public:
  enum class Progress : uint8_t {
    kOk,
    kEnd,    // orderly end of stream
    kError,  // error() says what
  };

  explicit TcpStream(Context& context) : context_(context) {}
  TcpStream(const TcpStream&) = delete;
  TcpStream& operator=(const TcpStream&) = delete;

  Result<void> connect(size_t local_turn);
  int descriptor() const { return socket_.get(); }
  SSL* ssl() const { return ssl_.get(); }

  // Goes on with the TCP and TLS handshakes; `ready()` tells when they are done.
  Progress handshake(uint32_t epoll_events);
  bool connected() const { return connected_; }
  bool ready() const { return ready_; }

  // Takes a piece of plain text; false stops the reading (the connection is being given up).
  using Take = std::function<bool(std::span<const uint8_t>)>;
  // Reads once from the socket, and hands on all that it decrypts to.
  Progress read(const Take& take);
  // Hands on what came along with the end of the handshake. To be called right after it: what was
  // received lies in a buffer that the next connection uses.
  Progress drain(const Take& take);
  // Encrypts into the output. False only after a TLS failure.
  bool write(std::span<const uint8_t> plain);
  // Bytes that the socket has not taken yet.
  size_t unsent() const { return out_.size() - sent_; }
  // Whether to wait for writability: not connected yet, or more to send.
  bool wants_write() const { return !connected_ || unsent() > 0; }
  // Sends what it can.
  Progress flush();
  void close();

  const std::string& error() const { return error_; }

 private:
  friend struct StreamBio;
  Progress fail_errno(const char* what);
  Progress receive();

  Context& context_;
  net::Fd socket_;
  SslPtr ssl_;
  std::span<const uint8_t> in_;  // received, not yet taken by TLS
  std::string out_;
  size_t sent_ = 0;  // of out_
  bool connected_ = false;
  bool ready_ = false;
  std::string error_;
};

}  // namespace pqedge::measure::load
