#include "probe/ask.h"

#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>

namespace pqedge::probe {
namespace {

constexpr Nanos kPause = 50 * kMillisecond;  // between two pieces of a hello

// Until the peer's kernel has the first piece, and then a moment: the server reads it alone.
void wait_until_delivered(int socket, Nanos deadline) {
  int unsent = 1;
  while (monotonic_now() < deadline && ::ioctl(socket, SIOCOUTQ, &unsent) == 0 && unsent > 0) {
    poll(nullptr, 0, 1);
  }
  poll(nullptr, 0, static_cast<int>(kPause / kMillisecond));
}

Result<void> deliver(const Connection& connection, Bytes message, Delivery delivery) {
  const int socket = connection.socket.get();
  const size_t half = message.size() / 2;
  const std::vector<uint8_t> wire =
      delivery == Delivery::records ? in_records(message, half + 1) : in_records(message);
  if (delivery != Delivery::segments) return send_all(socket, wire, connection.deadline);
  const Bytes all(wire);
  if (auto sent = send_all(socket, all.first(half), connection.deadline); !sent) return sent;
  wait_until_delivered(socket, connection.deadline);
  return send_all(socket, all.subspan(half), connection.deadline);
}

Answer read_answer(const Connection& connection) {
  FlightReader reader;
  std::array<uint8_t, 4096> buffer;
  for (;;) {
    const ssize_t size = ::recv(connection.socket.get(), buffer.data(), buffer.size(), 0);
    if (size > 0) {
      if (reader.take(Bytes(buffer).first(static_cast<size_t>(size)))) return reader.answer();
    } else if (size == 0) {
      return reader.end(Outcome::closed);
    } else if (errno == EAGAIN) {
      if (!wait_for(connection.socket.get(), POLLIN, connection.deadline)) {
        return reader.end(Outcome::timeout);
      }
    } else if (errno != EINTR) {
      return reader.end(Outcome::reset);
    }
  }
}

}  // namespace

Answer ask(Dialer& dialer, const HelloShape& shape, Delivery delivery) {
  auto connection = dialer.connect();
  if (!connection) {
    Answer answer;
    answer.detail = connection.error().message;
    return answer;
  }
  // A server that answers before it took everything has said what there is to say.
  [[maybe_unused]] const auto sent = deliver(*connection, make_client_hello(shape), delivery);
  return read_answer(*connection);
}

HelloShape modern_hello(const Options& options) {
  HelloShape shape;
  shape.versions = {kTls13};
  shape.ciphers = tls13_suites();
  shape.groups = all_groups();
  shape.server_name = server_name(options);
  return shape;
}

HelloShape old_hello(const Options& options, uint16_t version) {
  HelloShape shape;
  shape.legacy_version = version;
  shape.ciphers = old_suites();
  shape.groups = {0x001d, 0x0017, 0x0018, 0x0019};
  shape.server_name = server_name(options);
  return shape;
}

}  // namespace pqedge::probe
