#include "net/udp_batch.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <string>
#include <vector>

#include "base/counters.h"
#include "unit/net/support.h"

namespace {
// What the next sendmmsg calls do, before they reach the kernel: 0 passes, an errno fails.
std::function<int(const mmsghdr*, unsigned)>& send_fault() {
  static std::function<int(const mmsghdr*, unsigned)> fault;
  return fault;
}
}  // namespace

// Stands before the C library's.
extern "C" int sendmmsg(int fd, mmsghdr* messages, unsigned count, int flags) {
  if (send_fault()) {
    if (const int code = send_fault()(messages, count); code != 0) {
      errno = code;
      return -1;
    }
  }
  return static_cast<int>(syscall(SYS_sendmmsg, fd, messages, count, flags));
}

namespace pqedge::net {
namespace {

struct Received {
  std::string text;
  Address peer, local;
  int ecn;
};

uint64_t counter(std::string_view name) { return counters::Counter(name, "").value(); }

class UdpBatch : public testing::Test {
 protected:
  void TearDown() override { send_fault() = nullptr; }

  struct End {
    UdpSocket socket;
    Address at;
    std::unique_ptr<UdpReceiver> receiver;
    std::unique_ptr<UdpSender> sender;
  };
  End open(std::string_view where, bool gso = true) {
    End e;
    auto socket = bind_udp(*Address::parse(where), {.reuse_port = false}, 1 << 20, 1 << 20);
    EXPECT_TRUE(socket.has_value()) << socket.error().message;
    e.socket = std::move(*socket);
    e.at = *local_address(e.socket.fd.get());
    e.receiver = std::make_unique<UdpReceiver>(e.socket.fd.get(), e.at);
    e.sender = std::make_unique<UdpSender>(
        *loop_, e.socket, e.at, gso, [](void* self) { ++static_cast<UdpBatch*>(self)->rooms_; },
        this);
    return e;
  }
  static void put(End& from, std::string_view text, size_t segment, const Address& to,
                  const Address& source = {}, uint8_t ecn = 0) {
    const MutableBytes room = from.sender->room(text.size());
    ASSERT_EQ(room.size(), text.size());
    std::memcpy(room.data(), text.data(), text.size());
    from.sender->commit(text.size(), segment, to, source, ecn);
  }
  static std::vector<Received> take_all(End& end) {
    std::vector<Received> all;
    const auto take = [&](Bytes b, const Address& peer, const Address& local, uint8_t ecn) {
      all.push_back({std::string(as_text(b)), peer, local, ecn});
    };
    while (end.receiver->receive(take)) {
    }
    return all;
  }

  std::unique_ptr<Loop> loop_ = make_loop();
  int rooms_ = 0;
};

std::string numbered(size_t segment, size_t count, size_t tail = 0) {
  std::string all;
  for (size_t i = 0; i < count; ++i) {
    all += std::string(segment, static_cast<char>('A' + i % 26));
  }
  return all + std::string(tail, '.');
}

TEST_F(UdpBatch, SplitsWhatTheKernelJoined) {
  End a = open("127.0.0.1:0"), b = open("127.0.0.1:0");
  const uint64_t messages = counter("pqedge_udp_sent_messages_total");
  const std::string all = numbered(1200, 10, 700);
  put(a, all, 1200, b.at);
  EXPECT_EQ(take_all(b).size(), 0u);  // nothing leaves before the end of the turn
  loop_->run_once(0);
  const auto got = take_all(b);
  ASSERT_EQ(got.size(), 11u);
  std::string joined;
  for (const Received& r : got) {
    EXPECT_EQ(r.peer, a.at);
    EXPECT_EQ(r.local, b.at);
    EXPECT_EQ(r.ecn, 0);
    joined += r.text;
  }
  EXPECT_EQ(joined, all);
  EXPECT_EQ(got.back().text.size(), 700u);
  if (a.socket.gso) {
    EXPECT_EQ(counter("pqedge_udp_sent_messages_total"), messages + 1);
  }
}

TEST_F(UdpBatch, JoinsNeighboursForOneDestinationOnly) {
  End a = open("127.0.0.1:0"), b = open("127.0.0.1:0"), c = open("127.0.0.1:0");
  if (!a.socket.gso) GTEST_SKIP() << "this kernel has no UDP_SEGMENT";
  const uint64_t messages = counter("pqedge_udp_sent_messages_total");
  for (int i = 0; i < 5; ++i) put(a, std::string(1000, 'x'), 1000, b.at);
  put(a, "short tail", 10, b.at);
  put(a, std::string(1000, 'y'), 1000, b.at);  // after the tail: a new message
  put(a, "to another", 10, c.at);
  put(a, "marked", 6, c.at, {}, 1);
  a.sender->flush();
  EXPECT_EQ(counter("pqedge_udp_sent_messages_total"), messages + 4);
  EXPECT_EQ(take_all(b).size(), 7u);
  const auto got = take_all(c);
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[0].text, "to another");
  EXPECT_EQ(got[1].text, "marked");
  EXPECT_EQ(got[1].ecn, 1);
}

// A probe of the path's MTU (RFC 9000 14.3) may be refused; nothing else goes down with it.
TEST_F(UdpBatch, ALoneLargerDatagramIsNotJoined) {
  End a = open("127.0.0.1:0"), b = open("127.0.0.1:0");
  const uint64_t messages = counter("pqedge_udp_sent_messages_total");
  put(a, std::string(1452, 'p'), 1452, b.at);
  put(a, std::string(1200, 'd'), 1200, b.at);
  a.sender->flush();
  EXPECT_EQ(counter("pqedge_udp_sent_messages_total"), messages + 2);
  EXPECT_EQ(take_all(b).size(), 2u);
}

TEST_F(UdpBatch, AWildcardSocketTellsAndUsesTheLocalAddress) {
  End server = open("0.0.0.0:0"), client = open("127.0.0.1:0");
  const Address second = *Address::from_ip("127.0.0.2", server.at.port());
  put(client, "ask", 3, second, {}, 2);
  client.sender->flush();
  auto got = take_all(server);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].local, second);
  EXPECT_EQ(got[0].ecn, 2);
  put(server, "answer", 6, got[0].peer, got[0].local, 3);
  server.sender->flush();
  got = take_all(client);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].peer, second);
  EXPECT_EQ(got[0].ecn, 3);
}

TEST_F(UdpBatch, ADualStackSocketServesBothFamilies) {
  End server = open(":0");
  End four = open("127.0.0.1:0"), six = open("[::1]:0");
  put(four, numbered(500, 3), 500, *Address::from_ip("127.0.0.1", server.at.port()), {}, 1);
  put(six, numbered(600, 3), 600, *Address::from_ip("::1", server.at.port()), {}, 2);
  four.sender->flush();
  six.sender->flush();
  const auto got = take_all(server);
  ASSERT_EQ(got.size(), 6u);
  for (const Received& r : got) {
    const bool is_four = r.text.size() == 500;
    EXPECT_EQ(r.peer, is_four ? four.at : six.at);
    EXPECT_EQ(r.local.ip(), is_four ? "127.0.0.1" : "::1");
    EXPECT_EQ(r.ecn, is_four ? 1 : 2);
    put(server, numbered(r.text.size(), 2), r.text.size(), r.peer, r.local, 1);
  }
  server.sender->flush();
  const auto at_four = take_all(four), at_six = take_all(six);
  ASSERT_EQ(at_four.size(), 6u);
  ASSERT_EQ(at_six.size(), 6u);
  EXPECT_EQ(at_four[0].ecn, 1);
  EXPECT_EQ(at_six[0].ecn, 1);
  EXPECT_EQ(at_six[5].peer.ip(), "::1");
}

// P8: a GSO message the kernel refuses goes out singly at once, and GSO is dropped for that path.
// SO_NO_CHECK makes this kernel refuse GSO (EINVAL) and nothing else.
TEST_F(UdpBatch, AGsoMessageTheKernelRefusesGoesOutSingly) {
  End a = open("127.0.0.1:0"), b = open("127.0.0.1:0");
  if (!a.socket.gso) GTEST_SKIP() << "this kernel has no UDP_SEGMENT";
  const int on = 1;
  ASSERT_EQ(setsockopt(a.socket.fd.get(), SOL_SOCKET, SO_NO_CHECK, &on, sizeof on), 0);
  const uint64_t failures = counter("pqedge_udp_gso_failed_total");
  EXPECT_TRUE(a.sender->gso_to(b.at));
  const std::string all = numbered(1200, 20, 5);
  put(a, all, 1200, b.at);
  a.sender->flush();
  std::string joined;
  for (const Received& r : take_all(b)) joined += r.text;
  EXPECT_EQ(joined, all);
  EXPECT_EQ(counter("pqedge_udp_gso_failed_total"), failures + 1);
  EXPECT_FALSE(a.sender->gso_to(b.at));
  EXPECT_TRUE(a.sender->gso_to(*Address::parse("192.0.2.1:443")));
  put(a, all, 1200, b.at);
  a.sender->flush();
  EXPECT_EQ(take_all(b).size(), 21u);
  EXPECT_EQ(counter("pqedge_udp_gso_failed_total"), failures + 1);
}

// quinn#2202: EIO, in the middle of a batch, after GSO had worked.
TEST_F(UdpBatch, GsoMayFailAfterItWorked) {
  End a = open("127.0.0.1:0"), b = open("127.0.0.1:0"), c = open("127.0.0.1:0");
  if (!a.socket.gso) GTEST_SKIP() << "this kernel has no UDP_SEGMENT";
  put(a, numbered(1200, 4), 1200, b.at);
  a.sender->flush();
  EXPECT_EQ(take_all(b).size(), 4u);
  // Messages to b that carry several datagrams fail, wherever they stand.
  send_fault() = [&](const mmsghdr* m, unsigned) {
    const Address to = Address::from_sockaddr(static_cast<const sockaddr*>(m->msg_hdr.msg_name),
                                              m->msg_hdr.msg_namelen);
    return to == b.at && m->msg_hdr.msg_iov->iov_len > 1200 ? EIO : 0;
  };
  put(a, "first to c", 10, c.at);
  a.sender->flush();
  put(a, numbered(1200, 4), 1200, b.at);
  put(a, "then to c", 9, c.at);
  a.sender->flush();
  EXPECT_EQ(take_all(b).size(), 4u);
  EXPECT_EQ(take_all(c).size(), 2u);
  EXPECT_EQ(a.sender->queued(), 0u);
}

TEST_F(UdpBatch, ADatagramThatCannotBeSentDoesNotHoldTheOthers) {
  End a = open("127.0.0.1:0"), b = open("127.0.0.1:0");
  const uint64_t failed = counter("pqedge_udp_send_failed_total");
  put(a, "one", 3, b.at);
  put(a, "lost", 4, *Address::parse("255.255.255.255:9"));  // EACCES without SO_BROADCAST
  put(a, "two", 3, b.at);
  a.sender->flush();
  EXPECT_EQ(take_all(b).size(), 2u);
  EXPECT_EQ(counter("pqedge_udp_send_failed_total"), failed + 1);
}

TEST_F(UdpBatch, AFullSocketKeepsTheRestAndTellsWhenThereIsRoom) {
  End a = open("127.0.0.1:0"), b = open("127.0.0.1:0");
  bool full = true;
  send_fault() = [&](const mmsghdr*, unsigned) { return full ? EAGAIN : 0; };
  put(a, numbered(1200, 3), 1200, b.at);
  a.sender->flush();
  EXPECT_TRUE(a.sender->blocked());
  EXPECT_EQ(a.sender->queued(), 3600u);
  EXPECT_TRUE(a.sender->room(1200).empty());
  loop_->run_once(20 * kMillisecond);  // still full: it stays so
  EXPECT_EQ(rooms_, 0);
  full = false;
  ASSERT_TRUE(run_until(*loop_, [&] { return rooms_ == 1; }));
  EXPECT_FALSE(a.sender->blocked());
  EXPECT_EQ(take_all(b).size(), 3u);
  EXPECT_EQ(a.sender->room(1200).size(), 1200u);
}

TEST_F(UdpBatch, MakesRoomByItselfWithinATurn) {
  End a = open("127.0.0.1:0"), b = open("127.0.0.1:0");
  size_t datagrams = 0;
  for (int i = 0; i < 40; ++i) {
    put(a, numbered(1200, 50), 1200, b.at);
    if (i % 4 == 3) datagrams += take_all(b).size();
  }
  a.sender->flush();
  datagrams += take_all(b).size();
  EXPECT_EQ(datagrams, 2000u);
}

TEST_F(UdpBatch, CountsWhatTheKernelDropped) {
  End a = open("127.0.0.1:0");
  auto small = bind_udp(*Address::parse("127.0.0.1:0"), {.reuse_port = false}, 4096, 4096);
  ASSERT_TRUE(small.has_value());
  const Address at = *local_address(small->fd.get());
  UdpReceiver receiver(small->fd.get(), at);
  const uint64_t drops = counter("pqedge_udp_kernel_drops_total");
  const auto send = [&](int count) {
    for (int i = 0; i < count; ++i) {
      put(a, std::string(1000, 'x'), 1000, at);
      a.sender->flush();
    }
  };
  size_t got = 0;
  const auto take = [&](Bytes, const Address&, const Address&, uint8_t) { ++got; };
  send(50);
  while (receiver.receive(take)) {
  }
  send(1);  // carries the count
  while (receiver.receive(take)) {
  }
  EXPECT_LT(got, 51u);
  EXPECT_EQ(counter("pqedge_udp_kernel_drops_total"), drops + 51 - got);
}

TEST(UdpSocketOptions, SaysWhatBuffersWereGranted) {
  auto socket = bind_udp(*Address::parse("127.0.0.1:0"), {}, 100'000, 50'000);
  ASSERT_TRUE(socket.has_value());
  EXPECT_EQ(socket->receive_buffer_asked, 100'000);
  EXPECT_GE(socket->receive_buffer_granted, 100'000);
  EXPECT_GE(socket->send_buffer_granted, 50'000);
}

}  // namespace
}  // namespace pqedge::net
