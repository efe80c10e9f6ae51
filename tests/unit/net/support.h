// Shared by the tests of net: sockets in pairs, and a loop that is run until something is true.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <functional>
#include <utility>

#include "net/address.h"
#include "net/loop.h"
#include "net/socket.h"

namespace pqedge::net {

inline std::unique_ptr<Loop> make_loop() {
  auto loop = Loop::create();
  EXPECT_TRUE(loop.has_value());
  return std::move(*loop);
}

// Runs turns until `done`; gives up after ten seconds, so that a failure ends.
inline bool run_until(Loop& loop, const std::function<bool()>& done) {
  const Nanos limit = monotonic_now() + 10 * kSecond;
  while (!done()) {
    if (monotonic_now() > limit) return false;
    loop.run_once(100 * kMillisecond);
  }
  return true;
}

// The two ends of a TCP connection over loopback; both non-blocking.
struct TcpPair {
  Fd client;
  Fd server;
};
inline TcpPair tcp_pair(int receive_buffer = 0) {
  TcpPair pair;
  auto listener = listen_stream(*Address::parse("127.0.0.1:0"), {});
  EXPECT_TRUE(listener.has_value());
  if (receive_buffer > 0) {  // inherited by what is accepted
    setsockopt(listener->get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  }
  const Address at = *local_address(listener->get());
  pair.client = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(connect(pair.client.get(), at.data(), at.size()), 0);
  pair.server = Fd(accept4(listener->get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  EXPECT_TRUE(static_cast<bool>(pair.server));
  return pair;
}

}  // namespace pqedge::net
