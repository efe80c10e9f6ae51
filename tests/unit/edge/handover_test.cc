#include "edge/handover.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "edge/process_peer.h"
#include "net/fd_message.h"

namespace pqedge::edge {
namespace {

class HandoverTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = net::make_message_pair();
    ASSERT_TRUE(made.has_value());
    pair_ = std::move(*made);
  }
  static net::Fd some_fd() { return net::Fd(dup(0)); }
  void send(std::vector<uint8_t> bytes) {
    ASSERT_TRUE(net::send_message(pair_.ours.get(), bytes, {}, kSecond).has_value());
  }
  static PoolHandover some_pool(const std::string& name) {
    PoolHandover pool{.pool = name,
                      .definition = UINT64_MAX,
                      .added = {},
                      .changes = {},
                      .standings = {},
                      .affinity = {},
                      .ties = {}};
    pool.added.push_back({.address = *net::Address::parse("127.0.0.1:81"),
                          .name = "new",
                          .weight = 7,
                          .priority = 2,
                          .id = "id"});
    pool.changes.push_back({.address = "127.0.0.1:80", .weight = 0, .draining = true});
    pool.changes.push_back({.address = "unix:/run/app", .weight = std::nullopt, .removed = true});
    pool.standings.push_back({.address = "127.0.0.1:80",
                              .known = {.mode = upstream::Mode::ejected,
                                        .time = uint64_t{1} << 50,
                                        .ejections = 3,
                                        .reason = std::string(2000, 'r')}});
    pool.affinity = {.kind = upstream::KeySource::Kind::header, .name = "x-user"};
    for (uint64_t i = 0; i < 2500; ++i) pool.ties.push_back({i, ~i, i << 40});
    return pool;
  }
  static void expect_some_pool(const PoolHandover& pool, const std::string& name) {
    EXPECT_EQ(pool.pool, name);
    EXPECT_EQ(pool.definition, UINT64_MAX);
    ASSERT_EQ(pool.added.size(), 1u);
    EXPECT_EQ(pool.added[0].address.to_string(), "127.0.0.1:81");
    EXPECT_EQ(pool.added[0].name, "new");
    EXPECT_EQ(pool.added[0].weight, 7u);
    EXPECT_EQ(pool.added[0].priority, 2u);
    EXPECT_EQ(pool.added[0].id, "id");
    ASSERT_EQ(pool.changes.size(), 2u);
    EXPECT_EQ(pool.changes[0].weight, 0u);
    EXPECT_TRUE(pool.changes[0].draining && !pool.changes[0].removed);
    EXPECT_EQ(pool.changes[1].address, "unix:/run/app");
    EXPECT_FALSE(pool.changes[1].weight.has_value());
    EXPECT_TRUE(!pool.changes[1].draining && pool.changes[1].removed);
    EXPECT_EQ(pool.affinity.kind, upstream::KeySource::Kind::header);
    EXPECT_EQ(pool.affinity.name, "x-user");
    ASSERT_EQ(pool.ties.size(), 2500u);
    for (uint64_t i = 0; i < 2500; ++i) {
      EXPECT_EQ(pool.ties[i].key, i);
      EXPECT_EQ(pool.ties[i].member, ~i);
      EXPECT_EQ(pool.ties[i].seen, i << 40);
    }
    ASSERT_EQ(pool.standings.size(), 1u);
    EXPECT_EQ(pool.standings[0].known.mode, upstream::Mode::ejected);
    EXPECT_EQ(pool.standings[0].known.time, uint64_t{1} << 50);
    EXPECT_EQ(pool.standings[0].known.ejections, 3u);
    EXPECT_EQ(pool.standings[0].known.reason, std::string(1000, 'r'));
  }
  static std::vector<uint8_t> begin(uint16_t workers = 1, uint8_t format = 1) {
    return {0x81, 0, format, 0, 0, 0, 7, 0, 3, 0, static_cast<uint8_t>(workers)};
  }

  net::SocketPair pair_;
};

TEST_F(HandoverTest, ComesOutAsItWentIn) {
  Handover h;
  h.process = 4711;
  h.generation = 65'535;
  h.workers = 2;
  h.workers_asked = 9;
  h.quic_secret.fill(0x5a);
  crypto::TicketKey key = crypto::make_ticket_key(99);
  h.ticket_keys.push_back(key);
  const auto address = net::Address::parse("[::1]:443");
  for (uint16_t w = 0; w < 2; ++w) {
    h.sockets.push_back(
        {.use = PassedSocket::Use::udp, .address = *address, .worker = w, .fd = some_fd()});
    h.links.push_back(some_fd());
  }
  h.inherited.push_back({.fd = some_fd(), .address = *address, .udp = true, .name = "web"});
  h.state.pools = {some_pool("app"), some_pool("api")};
  h.state.canaries.push_back(
      {.route = "r", .pool = "next", .configured = 500, .share = 10'000, .rolled_back = true});
  ASSERT_TRUE(send_handover(pair_.ours.get(), h).has_value());
  const auto got = receive_handover(pair_.theirs.get());
  ASSERT_TRUE(got.has_value()) << got.error().message;
  ASSERT_EQ(got->state.pools.size(), 2u);
  expect_some_pool(got->state.pools[0], "app");
  expect_some_pool(got->state.pools[1], "api");
  ASSERT_EQ(got->state.canaries.size(), 1u);
  EXPECT_EQ(got->state.canaries[0].route, "r");
  EXPECT_EQ(got->state.canaries[0].pool, "next");
  EXPECT_EQ(got->state.canaries[0].configured, 500u);
  EXPECT_EQ(got->state.canaries[0].share, 10'000u);
  EXPECT_TRUE(got->state.canaries[0].rolled_back);
  EXPECT_EQ(got->process, 4711);
  EXPECT_EQ(got->generation, 65'535);
  EXPECT_EQ(got->workers, 2);
  EXPECT_EQ(got->workers_asked, 9u);
  EXPECT_EQ(got->quic_secret, h.quic_secret);
  ASSERT_EQ(got->ticket_keys.size(), 1u);
  EXPECT_EQ(got->ticket_keys[0].name, key.name);
  EXPECT_EQ(got->ticket_keys[0].seed, key.seed);
  EXPECT_EQ(got->ticket_keys[0].created, 99u);
  ASSERT_EQ(got->sockets.size(), 2u);
  EXPECT_EQ(got->sockets[1].use, PassedSocket::Use::udp);
  EXPECT_EQ(got->sockets[1].worker, 1);
  EXPECT_EQ(got->sockets[1].address, *address);
  EXPECT_TRUE(got->sockets[1].fd);
  ASSERT_EQ(got->inherited.size(), 1u);
  EXPECT_EQ(got->inherited[0].name, "web");
  EXPECT_EQ(got->links.size(), 2u);
}

TEST_F(HandoverTest, SkipsWhatALaterVersionMayLeaveOut) {
  send(begin());
  send({0x7f, 1, 2, 3});
  const int fd = pair_.ours.get();
  ASSERT_TRUE(net::send_message(fd, std::vector<uint8_t>{6}, {&fd, 1}, kSecond).has_value());
  send({0x87});
  EXPECT_TRUE(receive_handover(pair_.theirs.get()).has_value());
}

TEST_F(HandoverTest, RefusesAServerOfNoPool) {
  send(begin());
  send({15, 0, 1, 'a', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_FALSE(receive_handover(pair_.theirs.get()).has_value());
}

TEST_F(HandoverTest, LearnsAServerAnewThatIsInAStateOfALaterVersion) {
  send(begin());
  send({12, 0, 1, 'p', 0, 0, 0, 0, 0, 0, 0, 0});
  send({15, 0, 1, 'a', 99, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  const int fd = pair_.ours.get();
  ASSERT_TRUE(net::send_message(fd, std::vector<uint8_t>{6}, {&fd, 1}, kSecond).has_value());
  send({0x87});
  const auto got = receive_handover(pair_.theirs.get());
  ASSERT_TRUE(got.has_value()) << got.error().message;
  EXPECT_TRUE(got->state.pools.at(0).standings.empty());
}

TEST_F(HandoverTest, RefusesWhatItMustKnow) {
  send(begin());
  send({0xff});
  const auto got = receive_handover(pair_.theirs.get());
  ASSERT_FALSE(got.has_value());
  EXPECT_NE(got.error().message.find("restart instead"), std::string::npos);
}

TEST_F(HandoverTest, RefusesAnotherFormat) {
  send(begin(1, 2));
  EXPECT_FALSE(receive_handover(pair_.theirs.get()).has_value());
}

TEST_F(HandoverTest, RefusesWhatIsCutOrNotWhole) {
  send({0x81, 0, 1});
  EXPECT_FALSE(receive_handover(pair_.theirs.get()).has_value());
  send({0x84, 1});
  EXPECT_FALSE(receive_handover(pair_.theirs.get()).has_value());
  send(begin());
  send({0x87});  // no way for datagrams
  EXPECT_FALSE(receive_handover(pair_.theirs.get()).has_value());
  send(begin());
  pair_.ours.reset();
  EXPECT_FALSE(receive_handover(pair_.theirs.get()).has_value());
}

TEST_F(HandoverTest, ReadyAndTheVerdict) {
  ASSERT_TRUE(send_ready(pair_.ours.get(), {"127.0.0.1:443", "[::]:443"}).has_value());
  const auto udp = receive_ready(pair_.theirs.get());
  ASSERT_TRUE(udp.has_value());
  EXPECT_EQ(*udp, (std::vector<std::string>{"127.0.0.1:443", "[::]:443"}));
  for (const bool go : {true, false}) {
    ASSERT_TRUE(send_verdict(pair_.theirs.get(), go).has_value());
    EXPECT_EQ(receive_verdict(pair_.ours.get()).value(), go);
  }
  send_failure(pair_.ours.get(), "no such file");
  EXPECT_EQ(receive_ready(pair_.theirs.get()).error().message, "no such file");
  pair_.theirs.reset();
  EXPECT_TRUE(receive_verdict(pair_.ours.get()).value());  // nobody is there to serve on
}

class Collector final : public ProcessLinkHandler {
 public:
  void on_link_datagram(const ProcessPeer::Datagram& d) override {
    bytes.emplace_back(as_text(d.datagram.bytes));
    last = d;
    last.datagram.bytes = {};
  }
  void on_link_settled() override { settled = true; }
  void on_link_closed() override { closed = true; }

  std::vector<std::string> bytes;
  ProcessPeer::Datagram last;
  bool settled = false;
  bool closed = false;
};

TEST_F(HandoverTest, DatagramsGoToTheOtherProcess) {
  auto loop = net::Loop::create();
  ASSERT_TRUE(loop.has_value());
  std::vector<net::Fd> here;
  std::vector<net::Fd> there;
  here.push_back(std::move(pair_.ours));
  there.push_back(std::move(pair_.theirs));
  auto sender = std::make_shared<ProcessPeer>(8, std::move(here));
  auto receiver = std::make_shared<ProcessPeer>(7, std::move(there));
  Collector collector;
  auto link = ProcessLink::open(**loop, receiver, 0, collector);
  ASSERT_TRUE(link.has_value());

  const std::string large(65'000, 'q');
  ProcessPeer::Datagram d{.returned = true,
                          .from = 3,
                          .listener = *net::Address::parse("127.0.0.1:443"),
                          .datagram = {.bytes = as_bytes(large),
                                       .peer = *net::Address::parse("[2001:db8::1]:5000"),
                                       .local = *net::Address::parse("127.0.0.1:443"),
                                       .ecn = 2}};
  EXPECT_TRUE(sender->send(0, d));
  EXPECT_FALSE(sender->send(1, d));  // there is no such worker
  sender->send_settled(0);
  (*loop)->run_once(kSecond);
  ASSERT_EQ(collector.bytes.size(), 1u);
  EXPECT_EQ(collector.bytes[0], large);
  EXPECT_TRUE(collector.last.returned);
  EXPECT_EQ(collector.last.from, 3);
  EXPECT_EQ(collector.last.datagram.ecn, 2);
  EXPECT_EQ(collector.last.datagram.peer, d.datagram.peer);
  EXPECT_EQ(collector.last.listener, d.listener);
  EXPECT_TRUE(collector.settled);

  link->reset();
  receiver.reset();
  EXPECT_FALSE(sender->send(0, d));
  EXPECT_TRUE(sender->is_gone(0));
}

}  // namespace
}  // namespace pqedge::edge
