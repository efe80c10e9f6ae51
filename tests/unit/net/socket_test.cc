#include "net/socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <format>
#include <fstream>

#include "unit/net/support.h"

namespace pqedge::net {
namespace {

class TempDir {
 public:
  TempDir() {
    char name[] = "/tmp/pqedge-net-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~TempDir() { std::filesystem::remove_all(path_); }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

Address any_port(const char* text) { return *Address::parse(text); }

// A loopback address that only this process uses, so that a port of it which should be free is not
// taken by whatever runs beside the test.
Address own_loopback() {
  const auto id = static_cast<unsigned>(getpid());
  return *Address::from_ip(std::format("127.{}.{}.7", 64 + (id >> 8) % 64, id & 255), 0);
}

TEST(ListenStream, AcceptsWithNodelay) {
  TcpPair pair = tcp_pair();
  int nodelay = 0;
  socklen_t size = sizeof nodelay;
  ASSERT_EQ(getsockopt(pair.server.get(), IPPROTO_TCP, TCP_NODELAY, &nodelay, &size), 0);
  EXPECT_EQ(nodelay, 1);
}

TEST(ListenStream, DualStackUnlessToldOtherwise) {
  for (const bool v6_only : {false, true}) {
    auto listener = listen_stream(any_port(":0"), {.v6_only = v6_only});
    ASSERT_TRUE(listener.has_value());
    const uint16_t port = local_address(listener->get())->port();
    const Fd client(::socket(AF_INET, SOCK_STREAM, 0));
    const Address to = *Address::from_ip("127.0.0.1", port);
    EXPECT_EQ(connect(client.get(), to.data(), to.size()) == 0, !v6_only);
  }
}

TEST(ListenStream, WorkersShareAPort) {
  auto first = listen_stream(any_port("127.0.0.1:0"), {});
  ASSERT_TRUE(first.has_value());
  const Address at = *local_address(first->get());
  EXPECT_TRUE(listen_stream(at, {}).has_value());
  const auto alone = listen_stream(at, {.reuse_port = false});
  ASSERT_FALSE(alone.has_value());
  EXPECT_EQ(alone.error().code, EADDRINUSE);
}

// With SO_REUSEPORT alone, a second instance would join silently and steal connections.
TEST(CheckPortFree, SeesAListenerThatWouldLetUsJoin) {
  auto listener = listen_stream(own_loopback(), {});
  const Address at = *local_address(listener->get());
  EXPECT_FALSE(check_port_free(at, false).has_value());
  EXPECT_TRUE(check_port_free(at, true).has_value());  // UDP is another matter
  listener->reset();
  EXPECT_TRUE(check_port_free(at, false).has_value());
}

TEST(CheckPortFree, SeesTheOtherFamilyBehindADualStackAddress) {
  auto listener = listen_stream(any_port("0.0.0.0:0"), {});
  const Address six = Address::parse(":1")->with_port(local_address(listener->get())->port());
  EXPECT_FALSE(check_port_free(six, false).has_value());
  EXPECT_TRUE(check_port_free(six, false, true).has_value());
}

TEST(CheckPortFree, SeesUdp) {
  auto socket = bind_udp(own_loopback(), {}, 0, 0);
  ASSERT_TRUE(socket.has_value());
  const Address at = *local_address(socket->fd.get());
  EXPECT_FALSE(check_port_free(at, true).has_value());
  EXPECT_TRUE(check_port_free(at, false).has_value());
}

TEST(CheckPortFree, LooksPastTimeWait) {
  auto listener = listen_stream(own_loopback(), {});
  const Address at = *local_address(listener->get());
  Fd client(::socket(AF_INET, SOCK_STREAM, 0));
  ASSERT_EQ(connect(client.get(), at.data(), at.size()), 0);
  Fd server(accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC));
  server.reset();  // closes first: its side goes to TIME_WAIT
  char c;
  ASSERT_EQ(recv(client.get(), &c, 1, 0), 0);
  client.reset();
  listener->reset();
  EXPECT_TRUE(check_port_free(at, false).has_value());
  EXPECT_TRUE(listen_stream(at, {}).has_value());
}

TEST(ListenStream, ReplacesAStaleUnixSocketOnly) {
  const TempDir dir;
  const Address at = *Address::parse(dir / "socket");
  {
    auto live = listen_stream(at, {});
    ASSERT_TRUE(live.has_value());
    EXPECT_FALSE(listen_stream(at, {}).has_value());
    EXPECT_FALSE(check_port_free(at, false).has_value());
  }
  // The file is still there; nobody listens.
  EXPECT_TRUE(check_port_free(at, false).has_value());
  EXPECT_TRUE(std::filesystem::exists(dir / "socket"));
  EXPECT_TRUE(listen_stream(at, {}).has_value());

  std::ofstream(dir / "file") << "precious";
  const auto refused = listen_stream(*Address::parse(dir / "file"), {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(std::filesystem::exists(dir / "file"));
}

TEST(ListenStream, AFullUnixListenerIsALiveOne) {
  const TempDir dir;
  const Address at = *Address::parse(dir / "socket");
  auto live = listen_stream(at, {.backlog = 0});
  ASSERT_TRUE(live.has_value());
  std::vector<Fd> waiting;
  for (;;) {
    Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
    if (connect(fd.get(), at.data(), at.size()) != 0) break;
    waiting.push_back(std::move(fd));
  }
  EXPECT_FALSE(listen_stream(at, {}).has_value());
  EXPECT_FALSE(connect_stream(at).has_value());
}

// The file must never be open to others, not even between bind and a chmod.
TEST(ListenStream, AUnixSocketHasItsModeFromTheStart) {
  const TempDir dir;
  auto socket = listen_stream(*Address::parse(dir / "socket"), {.unix_mode = 0600});
  ASSERT_TRUE(socket.has_value());
  struct stat st;
  ASSERT_EQ(stat((dir / "socket").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0600u);
}

TEST(ConnectStream, TellsItsErrorWhenItIsDone) {
  Address nobody;
  {
    auto listener = listen_stream(any_port("127.0.0.1:0"), {});
    nobody = *local_address(listener->get());
  }
  auto loop = make_loop();
  struct Waiter : EventSource {
    void on_events(uint32_t e) override { events |= e; }
    uint32_t events = 0;
  } waiter;
  auto fd = connect_stream(nobody);
  ASSERT_TRUE(fd.has_value());
  ASSERT_TRUE(loop->add(fd->get(), waiter).has_value());
  ASSERT_TRUE(run_until(*loop, [&] { return (waiter.events & EventSource::kError) != 0; }));
  EXPECT_EQ(socket_error(fd->get()), ECONNREFUSED);
  EXPECT_EQ(socket_error(fd->get()), 0);
  loop->remove(fd->get(), waiter);
}

TEST(Fd, OwnsItsDescriptor) {
  int raw;
  {
    Fd a(::socket(AF_INET, SOCK_STREAM, 0));
    raw = a.get();
    Fd b = std::move(a);
    EXPECT_FALSE(static_cast<bool>(a));
    Fd& alias = b;
    b = std::move(alias);  // onto itself
    EXPECT_EQ(b.get(), raw);
  }
  EXPECT_EQ(fcntl(raw, F_GETFD), -1);
}

TEST(DescriptorLimit, IsRaisedToTheHardOne) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 256;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(raise_descriptor_limit(), before.rlim_max);
  rlimit after{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, before.rlim_max);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace pqedge::net
