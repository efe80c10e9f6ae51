// Targets of CONNECT, and what a route may say about tunnels.
#include <gtest/gtest.h>

#include "route/table.h"
#include "route/validate.h"

namespace pqedge::route {
namespace {

TEST(Tunnel, Targets) {
  const ConnectTarget exact{"db.test", 5432};
  EXPECT_TRUE(is_target(exact, "db.test", 5432));
  EXPECT_FALSE(is_target(exact, "db.test", 5433));
  EXPECT_FALSE(is_target(exact, "db.test.evil", 5432));
  const ConnectTarget wild{"*.a.test", 0};
  EXPECT_TRUE(is_target(wild, "x.a.test", 1));
  EXPECT_TRUE(is_target(wild, "y.x.a.test", 65535));
  EXPECT_FALSE(is_target(wild, "a.test", 1));
  EXPECT_FALSE(is_target(wild, ".a.test", 1));
  EXPECT_FALSE(is_target(wild, "xa.test", 1));
  EXPECT_TRUE(is_target({"*", 443}, "anything", 443));
  EXPECT_FALSE(is_target({"*", 443}, "anything", 80));
}

RouteSettings connect_route(std::string name, std::string host, uint16_t port) {
  RouteSettings r;
  r.name = std::move(name);
  r.pool = "p";
  r.methods = {"CONNECT"};
  r.tunnel.connect = {{std::move(host), port}};
  return r;
}

TEST(Tunnel, RoutesOfOneHostAndOtherPortsDoNotHideEachOther) {
  RouteSettings all;
  all.name = "all";
  all.pool = "p";
  all.priority = 10;
  const auto problems =
      validate({connect_route("a", "db.test", 1), connect_route("b", "db.test", 2), all});
  for (const Problem& p : problems) ADD_FAILURE() << p.key << " " << p.what;
  EXPECT_FALSE(
      validate({connect_route("a", "db.test", 1), connect_route("b", "db.test", 1)}).empty());
}

TEST(Tunnel, Upgrades) {
  TunnelSettings t;
  EXPECT_TRUE(t.takes("websocket"));
  EXPECT_FALSE(t.takes("tcp"));
  t.websocket = false;
  t.upgrades = {"tcp"};
  EXPECT_FALSE(t.takes("websocket"));
  EXPECT_TRUE(t.takes("tcp"));
}

}  // namespace
}  // namespace pqedge::route
