// A connected UDP socket that moves many datagrams a system call.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "measure/load/connection.h"
#include "net/socket.h"

namespace pqedge::measure::load {

class UdpSocket {
 public:
  explicit UdpSocket(Context& context) : context_(context) {}

  Result<void> connect(size_t local_turn);
  int descriptor() const { return socket_.get(); }
  const net::Address& local() const { return local_; }

  // Receives what is there, within the room of the shared buffer, and calls take(datagram) for
  // each. An errno value, or 0.
  template <typename Take>
  int receive(Take&& take);

  // Sends `bytes` as datagrams of `segment` bytes, the last one shorter perhaps. An errno value, or
  // 0; after EAGAIN nothing was sent.
  int send(std::span<const uint8_t> bytes, size_t segment);

  void close() { socket_.reset(); }

 private:
  // One received message: several datagrams of equal size, when the kernel joined them.
  struct Message {
    std::span<const uint8_t> bytes;
    size_t segment;
  };
  int receive_messages(std::vector<Message>& messages);

  Context& context_;
  net::Fd socket_;
  net::Address local_;
};

template <typename Take>
int UdpSocket::receive(Take&& take) {
  static thread_local std::vector<Message> messages;
  if (const int error = receive_messages(messages); error != 0) return error;
  for (const Message& message : messages) {
    for (std::span<const uint8_t> rest = message.bytes; !rest.empty();) {
      const size_t size = std::min(message.segment, rest.size());
      ++context_.tally.traffic.datagrams_received;
      take(rest.first(size));
      rest = rest.subspan(size);
    }
  }
  return 0;
}

}  // namespace pqedge::measure::load
