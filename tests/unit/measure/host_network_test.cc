#include "measure/host/network.h"

#include <gtest/gtest.h>

#include "measure/host/files.h"
#include "measure/host/netlink.h"

namespace pqedge::measure {
namespace {

// The loopback interface is there in every network namespace, though perhaps down.
TEST(HostNetwork, Loopback) {
  const auto facts = network_facts("lo");
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->congestion_control,
            HostFiles().line("/proc/sys/net/ipv4/tcp_congestion_control").value_or(""));
  EXPECT_FALSE(facts->qdisc.empty());
  EXPECT_EQ(facts->initial_window, kLinuxInitialWindow);
  for (const auto& [name, state] : facts->offloads) {
    EXPECT_TRUE(state == "on" || state == "off") << name;
  }
}

TEST(HostNetwork, RouteToLoopback) {
  const auto route = route_to("127.0.0.1");
  ASSERT_TRUE(route) << route.error().message;
  EXPECT_EQ(route->interface, "lo");
  EXPECT_FALSE(route->initial_window);
  const auto facts = network_facts_to("127.0.0.1");
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->qdisc, network_facts("lo")->qdisc);
  EXPECT_EQ(facts->initial_window, kLinuxInitialWindow);
}

TEST(HostNetwork, WhatIsNotThere) {
  const auto facts = network_facts("none0");
  ASSERT_FALSE(facts);
  EXPECT_NE(facts.error().message.find("'none0'"), std::string::npos);
  const auto route = route_to("example.com");
  ASSERT_FALSE(route);
  EXPECT_NE(route.error().message.find("not an IP address"), std::string::npos);
}

// The attributes that stand for `ip route add 192.0.2.0/24 dev dummy0 mtu 1400
// initcwnd 32 congctl cubic` by rtnetlink(7), in little-endian order: RTA_OIF 3, RTA_METRICS with
// RTAX_MTU, RTAX_INITCWND, RTAX_CC_ALGO.
TEST(HostNetwork, AttributesOfARoute) {
  const std::vector<uint8_t> bytes = {8,   0, 4,  0, 3,    0,   0,   0,  // RTA_OIF
                                      32,  0, 8,  0,                     // RTA_METRICS
                                      8,   0, 2,  0, 0x78, 5,   0,   0,  // RTAX_MTU
                                      8,   0, 11, 0, 32,   0,   0,   0,  // RTAX_INITCWND
                                      10,  0, 16, 0, 'c',  'u', 'b', 'i',
                                      'c', 0, 0,  0};  // RTAX_CC_ALGO
  EXPECT_EQ(attribute_u32(bytes, RTA_OIF), 3u);
  const auto metrics = attribute(bytes, RTA_METRICS);
  ASSERT_TRUE(metrics);
  EXPECT_EQ(attribute_u32(*metrics, RTAX_MTU), 1400u);
  EXPECT_EQ(attribute_u32(*metrics, RTAX_INITCWND), 32u);
  EXPECT_EQ(attribute_text(*metrics, RTAX_CC_ALGO), "cubic");
  EXPECT_FALSE(attribute(*metrics, RTAX_HOPLIMIT));
  // Cut short, the last attribute is not there.
  EXPECT_FALSE(attribute(metrics->first(metrics->size() - 4), RTAX_CC_ALGO));
  EXPECT_FALSE(attribute({}, RTA_OIF));
}

}  // namespace
}  // namespace pqedge::measure
