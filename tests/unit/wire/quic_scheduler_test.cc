#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "wire/quic/send_scheduler.h"

namespace pqedge::quic {

// A stream with an ID and nothing else.
class SchedulerTestStream final : public Stream {
 public:
  void on_data(Bytes, bool) override {}
  void on_peer_reset(uint64_t) override {}
  void on_stream_closed(std::optional<uint64_t>) override {}
  void on_send_progress() override {}
};

class SchedulerTest : public ::testing::Test {
 protected:
  SchedulerTestStream& add(int64_t id, uint8_t level, bool incremental) {
    streams_.push_back(std::make_unique<SchedulerTestStream>());
    SchedulerTestStream& s = *streams_.back();
    set_id(s, id);
    scheduler_.set_precedence(s, {.level = level, .incremental = incremental});
    scheduler_.add(s);
    return s;
  }
  // The IDs of the next n packets, if no stream ever runs out.
  std::vector<int64_t> turns(int n) {
    std::vector<int64_t> order;
    for (int i = 0; i < n; ++i) {
      Stream* s = scheduler_.next();
      order.push_back(s->id());
      scheduler_.took_turn(*s);
    }
    return order;
  }
  static void set_id(Stream& s, int64_t id) { s.id_ = id; }

  SendScheduler scheduler_;
  std::vector<std::unique_ptr<SchedulerTestStream>> streams_;
};

using Order = std::vector<int64_t>;

TEST_F(SchedulerTest, NothingWaitsAtFirst) {
  EXPECT_TRUE(scheduler_.empty());
  EXPECT_EQ(scheduler_.next(), nullptr);
}

// RFC 9218 10: "For non-incremental responses of the same urgency ... in the order of stream ID".
TEST_F(SchedulerTest, SequentialStreamsGoInTheOrderOfTheirIds) {
  SchedulerTestStream& a = add(8, 4, false);
  SchedulerTestStream& b = add(0, 4, false);
  SchedulerTestStream& c = add(4, 4, false);
  EXPECT_EQ(turns(3), (Order{0, 0, 0}));
  scheduler_.remove(b);
  EXPECT_EQ(turns(2), (Order{4, 4}));
  scheduler_.remove(c);
  EXPECT_EQ(turns(2), (Order{8, 8}));
  scheduler_.remove(a);
  EXPECT_TRUE(scheduler_.empty());
}

// "... share the bandwidth" among incremental ones.
TEST_F(SchedulerTest, IncrementalStreamsTakeTurns) {
  add(0, 4, true);
  add(4, 4, true);
  add(8, 4, true);
  EXPECT_EQ(turns(6), (Order{0, 4, 8, 0, 4, 8}));
}

TEST_F(SchedulerTest, BothKindsAlternate) {
  add(0, 4, false);
  add(4, 4, true);
  add(8, 4, true);
  EXPECT_EQ(turns(6), (Order{0, 4, 0, 8, 0, 4}));
}

TEST_F(SchedulerTest, LowerLevelsGoFirst) {
  SchedulerTestStream& late = add(0, 8, false);
  SchedulerTestStream& early = add(4, 1, true);
  SchedulerTestStream& critical = add(3, Precedence::kCritical, false);
  EXPECT_EQ(turns(1), (Order{3}));
  scheduler_.remove(critical);
  EXPECT_EQ(turns(2), (Order{4, 4}));
  scheduler_.remove(early);
  EXPECT_EQ(turns(1), (Order{0}));
  scheduler_.remove(late);
  EXPECT_TRUE(scheduler_.empty());
}

TEST_F(SchedulerTest, ANewPrecedenceHoldsAtOnce) {
  add(0, 4, false);
  SchedulerTestStream& b = add(4, 4, false);
  EXPECT_EQ(turns(1), (Order{0}));
  scheduler_.set_precedence(b, {.level = 2, .incremental = false});
  EXPECT_EQ(turns(1), (Order{4}));
}

TEST_F(SchedulerTest, AddingTwiceIsOnce) {
  SchedulerTestStream& a = add(0, 4, false);
  scheduler_.add(a);
  scheduler_.remove(a);
  scheduler_.remove(a);
  EXPECT_TRUE(scheduler_.empty());
}

}  // namespace pqedge::quic
