// Which addresses a certificate or a redirect must not lead to.
#include "jobs/web_address.h"

#include <gtest/gtest.h>

#include "net/address.h"

namespace pqedge::jobs {
namespace {

bool is_local(std::string_view ip) {
  const auto address = net::Address::from_ip(ip, 80);
  EXPECT_TRUE(address) << ip;
  return address && is_local_address(address->data());
}

TEST(WebAddress, SpecialOnesAreLocal) {
  for (const char* ip :
       {"127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "169.254.169.254", "169.254.0.1",
        "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "febf::1", "ff02::1",
        "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1"}) {
    EXPECT_TRUE(is_local(ip)) << ip;
  }
}

TEST(WebAddress, OthersAreNot) {
  for (const char* ip :
       {"10.0.0.1", "192.168.1.1", "172.16.0.1", "169.253.1.1", "128.0.0.1", "1.1.1.1",
        "223.255.255.255", "2001:db8::1", "fd00::1", "fec0::1", "::ffff:10.0.0.1"}) {
    EXPECT_FALSE(is_local(ip)) << ip;
  }
}

TEST(WebAddress, WhatIsNoIpAddressIs) {
  sockaddr address{};
  address.sa_family = AF_UNIX;
  EXPECT_TRUE(is_local_address(&address));
}

}  // namespace
}  // namespace pqedge::jobs
