// Which names are passed on, which server takes a connection, and what is kept meanwhile.
#include "edge/passthrough.h"

#include <gtest/gtest.h>

#include "edge/pending_hellos.h"
#include "edge/settings.h"
#include "edge/validate_passthrough.h"

namespace pqedge::edge {
namespace {

net::Address address(std::string_view text) { return net::Address::parse(text).value(); }

upstream::PoolSettings pool(const std::string& name, std::vector<std::string> servers) {
  upstream::PoolSettings p;
  p.name = name;
  for (const std::string& s : servers) p.servers.push_back({address(s), s});
  return p;
}

PassthroughSettings entry(const std::string& name, std::vector<std::string> hosts,
                          const std::string& to) {
  PassthroughSettings p;
  p.name = name;
  p.hosts = std::move(hosts);
  p.pool = to;
  return p;
}

Settings two_sites() {
  Settings s;
  s.listeners.push_back({.name = "https", .addresses = {address("127.0.0.1:443")}});
  s.listeners.push_back({.name = "other", .addresses = {address("127.0.0.1:444")}});
  s.pools = {pool("one", {"127.0.0.1:1001", "127.0.0.1:1002"}), pool("two", {"127.0.0.1:2001"})};
  s.passthroughs = {entry("a", {"a.test", "*.Deep.test"}, "one"),
                    entry("b", {"*.test", "x.deep.test"}, "two")};
  return s;
}

std::string found(const PassthroughTable& table, PassthroughTransport t, std::string_view host) {
  const PassthroughRef p = table.find(t, host);
  return p == nullptr ? "" : p->settings.name;
}

TEST(Passthrough, NamesAreLookedUpLikeRoutes) {
  upstream::Registry registry;
  Settings s = two_sites();
  s.passthroughs[1].quic = false;
  const auto table = PassthroughSet(s, registry).table_of(s.listeners[0]).value();
  ASSERT_NE(table, nullptr);
  const auto tcp = PassthroughTransport::tcp;
  EXPECT_EQ(found(*table, tcp, "a.test"), "a");
  EXPECT_EQ(found(*table, tcp, "b.test"), "b");
  EXPECT_EQ(found(*table, tcp, "y.deep.test"), "a");  // the longer wildcard
  EXPECT_EQ(found(*table, tcp, "x.deep.test"), "b");  // an exact name
  EXPECT_EQ(found(*table, tcp, "test"), "");
  EXPECT_EQ(found(*table, tcp, ""), "");
  EXPECT_EQ(found(*table, tcp, "a.example"), "");
  EXPECT_EQ(found(*table, PassthroughTransport::udp, "b.test"), "");
  EXPECT_EQ(found(*table, PassthroughTransport::udp, "a.test"), "a");
}

TEST(Passthrough, HoldsOnTheListenersItNames) {
  upstream::Registry registry;
  Settings s = two_sites();
  s.passthroughs[0].listeners = {"other"};
  s.passthroughs[1].listeners = {"other"};
  const PassthroughSet set(s, registry);
  EXPECT_EQ(set.table_of(s.listeners[0]).value(), nullptr);
  EXPECT_NE(set.table_of(s.listeners[1]).value(), nullptr);
  s.listeners[1].tls = false;
  EXPECT_EQ(set.table_of(s.listeners[1]).value(), nullptr);
}

TEST(Passthrough, ServersGoRoundAndThoseThatFailedComeLast) {
  upstream::Registry registry;
  const Settings s = two_sites();
  const Passthrough p(s.passthroughs[0], s.pools[0], registry);
  const auto first = p.pick(0, {}, {});
  const auto second = p.pick(0, {}, {});
  EXPECT_NE(first, second);
  PassthroughLease lease(first);
  lease.note_failure(10);
  EXPECT_EQ(p.pick(11, {}, {}), second);
  EXPECT_EQ(p.pick(12, {}, {}), second);
  upstream::ServerState* const tried[] = {second.get()};
  EXPECT_EQ(p.pick(13, tried, {}), first);  // better than none
  upstream::ServerState* const both[] = {second.get(), first.get()};
  EXPECT_EQ(p.pick(14, both, {}), nullptr);
}

TEST(Passthrough, KeepsToAServersMaximum) {
  upstream::Registry registry;
  Settings s = two_sites();
  s.pools[1].max_connections = 1;
  const Passthrough p(s.passthroughs[1], s.pools[1], registry);
  PassthroughLease lease(p.pick(0, {}, {}));
  EXPECT_EQ(p.pick(0, {}, {}), nullptr);
  lease.release();
  EXPECT_NE(p.pick(0, {}, {}), nullptr);
}

TEST(Passthrough, IdsNameServers) {
  upstream::Registry registry;
  Settings s = two_sites();
  s.passthroughs[0].server_ids = {
      {.server = address("127.0.0.1:1001"), .prefix = {0xc0, 0xff}},
      {.server = address("127.0.0.1:1002"), .quic_lb = {0xaa, 0xbb}, .rotation = 2}};
  const auto table = PassthroughSet(s, registry).table_of(s.listeners[0]).value();
  const auto port = [&](std::vector<uint8_t> id) {
    const auto f = table->follow(id);
    return f.server == nullptr ? 0 : f.server->address.port();
  };
  EXPECT_EQ(port({0xc0, 0xff, 1, 2}), 1001);
  EXPECT_EQ(port({0xc0, 0xfe, 1, 2}), 0);
  EXPECT_EQ(port({0x5f, 0xaa, 0xbb, 2}), 1002);
  EXPECT_EQ(port({0x40, 0xaa, 0xbb, 2}), 1002);
  EXPECT_EQ(port({0x60, 0xaa, 0xbb, 2}), 0);
  EXPECT_EQ(port({0xc0}), 0);
  EXPECT_EQ(port({}), 0);
}

bool refused(const Settings& s, std::string_view key) {
  for (const Problem& p : validate_passthroughs(s)) {
    if (p.key == key) return true;
  }
  return false;
}

TEST(Passthrough, ValidatesWhatItIsGiven) {
  EXPECT_TRUE(validate_passthroughs(two_sites()).empty());
  Settings s = two_sites();
  s.passthroughs[1].hosts = {"A.test"};
  EXPECT_TRUE(refused(s, "passthrough[1].hosts[0]"));
  s.passthroughs[0].listeners = {"https"};
  s.passthroughs[1].listeners = {"other"};
  EXPECT_FALSE(refused(s, "passthrough[1].hosts[0]"));
  s.passthroughs[1].hosts = {"192.0.2.1"};
  EXPECT_TRUE(refused(s, "passthrough[1].hosts[0]"));
  s.passthroughs[1].pool = "tow";
  EXPECT_TRUE(refused(s, "passthrough[1].pool"));
  s.passthroughs[1].listeners = {"nowhere"};
  EXPECT_TRUE(refused(s, "passthrough[1].listeners[0]"));
  s.pools[0].send_proxy = 1;
  EXPECT_TRUE(refused(s, "passthrough[0].pool"));
  s.passthroughs[0].quic = false;
  EXPECT_FALSE(refused(s, "passthrough[0].pool"));
  s.passthroughs[0].tls = false;
  EXPECT_TRUE(refused(s, "passthrough[0].protocols"));
}

TEST(Passthrough, ValidatesServerIds) {
  Settings s = two_sites();
  auto& ids = s.passthroughs[0].server_ids;
  ids = {{.server = address("127.0.0.1:1001"), .prefix = {1, 2}},
         {.server = address("127.0.0.1:1002"), .prefix = {1, 2, 3}}};
  EXPECT_TRUE(refused(s, "passthrough[0].server_ids[1]"));
  ids[1] = {.server = address("127.0.0.1:1002"), .quic_lb = {2}, .rotation = 0};
  EXPECT_TRUE(refused(s, "passthrough[0].server_ids[1]"));
  ids[1].rotation = 1;
  EXPECT_FALSE(refused(s, "passthrough[0].server_ids[1]"));
  ids[1].server = address("127.0.0.1:9");
  EXPECT_TRUE(refused(s, "passthrough[0].server_ids[1].server"));
  ids[1].rotation = 7;
  EXPECT_TRUE(refused(s, "passthrough[0].server_ids[1].rotation"));
  ids[0].prefix.clear();
  EXPECT_TRUE(refused(s, "passthrough[0].server_ids[0]"));
}

TEST(RecentIds, KnowTheLastFew) {
  const std::vector<uint8_t> a = {1, 2, 3};
  const std::vector<uint8_t> b = {9, 9};
  RecentIds ids;
  EXPECT_FALSE(ids.any_begins(a));
  ids.add(a);
  ids.add(a);
  ids.add(b);
  EXPECT_TRUE(ids.contains(a));
  EXPECT_FALSE(ids.contains(Bytes(a).first(2)));
  const std::vector<uint8_t> packet = {1, 2, 3, 4, 5};
  EXPECT_TRUE(ids.any_begins(packet));
  for (uint8_t i = 0; i < 3; ++i) ids.add(std::vector<uint8_t>{7, i});
  EXPECT_FALSE(ids.contains(a));
  EXPECT_TRUE(ids.contains(b));
}

quic::ReceivedDatagram datagram(const std::string& bytes) {
  return {
      .bytes = as_bytes(bytes), .peer = address("127.0.0.1:1"), .local = address("127.0.0.1:2")};
}

TEST(PendingHellos, KeepToTheirBounds) {
  PendingHellos pending(100);
  const PathKey path(address("127.0.0.1:1"), address("127.0.0.1:2"));
  const std::string bytes(1200, 'x');
  std::vector<uint8_t> id = {0, 0};
  for (size_t i = 0; i < 2 * PendingHellos::kMaxHellos; ++i) {
    id = {static_cast<uint8_t>(i >> 8), static_cast<uint8_t>(i)};
    PendingHello& hello = pending.make(path, id, i);
    EXPECT_TRUE(pending.keep(hello, datagram(bytes), true));
    EXPECT_TRUE(pending.keep(hello, datagram(bytes), false));
    ASSERT_LE(pending.size(), PendingHellos::kMaxHellos);
    ASSERT_LE(pending.bytes(), PendingHellos::kMaxBytes);
  }
  EXPECT_GT(pending.evicted(), 0u);
  PendingHello* newest = pending.find(path, id);
  ASSERT_NE(newest, nullptr);
  while (pending.keep(*newest, datagram(bytes), true)) {
  }
  EXPECT_EQ(newest->initials.size() + newest->others.size(), PendingHellos::kMaxDatagrams);
  const auto taken = pending.take(*newest);
  EXPECT_EQ(taken->bytes, PendingHellos::kMaxDatagrams * 1200);
  EXPECT_EQ(pending.find(path, id), nullptr);
  pending.expire(2 * PendingHellos::kMaxHellos + 100);
  EXPECT_EQ(pending.size(), 0u);
  EXPECT_EQ(pending.bytes(), 0u);
  EXPECT_EQ(pending.next_deadline(), kNever);
}

}  // namespace
}  // namespace pqedge::edge
