#include "measure/chain/window.h"

#include <gtest/gtest.h>

namespace pqedge::measure {
namespace {

TEST(Window, TenSegmentsAndThenTwiceAsMany) {
  EXPECT_TRUE(tcp_window(14'600, 1460, 10).fits);
  EXPECT_EQ(tcp_window(14'600, 1460, 10).extra_round_trips, 0u);
  EXPECT_FALSE(tcp_window(14'601, 1460, 10).fits);
  EXPECT_EQ(tcp_window(14'601, 1460, 10).extra_round_trips, 1u);
  EXPECT_EQ(tcp_window(43'800, 1460, 10).extra_round_trips, 1u);  // 14,600 + 29,200
  EXPECT_EQ(tcp_window(43'801, 1460, 10).extra_round_trips, 2u);
}

// A flight of this size fits with one segment size and not with another: which one has to be said.
TEST(Window, TheSegmentDecidesAboutFlightsNearTheLimit) {
  EXPECT_TRUE(tcp_window(14'500, 1460, 10).fits);
  EXPECT_FALSE(tcp_window(14'500, 1448, 10).fits);
  EXPECT_FALSE(tcp_window(14'300, 1428, 10).fits);
  EXPECT_EQ(tcp_window(1, 1448, 10).rule, "10 x 1448 (RFC 6928)");
}

TEST(Window, QuicCreditIsThreeTimesWhatCame) {
  EXPECT_EQ(quic_credit(0, 1200, 1200, 0).window, 3600u);
  EXPECT_EQ(quic_credit(0, 2400, 1200, 0).window, 7200u);
  EXPECT_TRUE(quic_credit(7200, 2400, 1200, 0).fits);
  EXPECT_FALSE(quic_credit(7201, 2400, 1200, 1).fits);
}

// RFC 9002 7.2: "ten times the maximum datagram size, while limiting the window to the larger of
// 14,720 bytes or twice the maximum datagram size".
TEST(Window, QuicInitialWindow) {
  EXPECT_EQ(quic_window(0, 1200).window, 12'000u);
  EXPECT_EQ(quic_window(0, 1472).window, 14'720u);
  EXPECT_EQ(quic_window(0, 1500).window, 14'720u);
  EXPECT_EQ(quic_window(0, 9000).window, 18'000u);
}

}  // namespace
}  // namespace pqedge::measure
