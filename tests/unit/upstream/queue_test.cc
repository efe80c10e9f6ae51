#include "upstream/queue.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace pqedge::upstream {
namespace {

class Client final : public Requester {
 public:
  void on_backend_ready(http::ClientStream&) override {}
  void on_backend_failed(Failure, std::string_view detail) override {
    failed = std::string(detail);
    if (then) then();
  }
  void on_backend_timeout() override {}
  http::ClientStreamHandler& client_handler() override { std::abort(); }
  proxy_protocol::Header proxy_header() const override { return {}; }

  Lease lease{*this};
  std::string failed;
  std::function<void()> then;
};

// A pool with so many places; who is served takes one for good.
class Places final : public QueueUser {
 public:
  bool serve_waiter(Lease& lease, const Choice&, bool) override {
    if (free == 0) return false;
    --free;
    served.push_back(&lease);
    return true;
  }
  void give_up_idle() override { ++asked; }
  int free = 0;
  int asked = 0;
  std::vector<Lease*> served;
};

class Waiting : public ::testing::Test {
 protected:
  // Two workers' loops, both run by this thread.
  std::unique_ptr<net::Loop> loop_a_ = std::move(*net::Loop::create());
  std::unique_ptr<net::Loop> loop_b_ = std::move(*net::Loop::create());
  Queue queue_{"queue-test"};
  Places pool_;
  WaitingRoom a_{*loop_a_, queue_, pool_, true};
  WaitingRoom b_{*loop_b_, queue_, pool_, true};
  Client one_, two_, three_;

  bool wait(WaitingRoom& room, Client& c, uint32_t depth = 10, Nanos timeout = 60 * kSecond) {
    return room.wait(c.lease, {}, false, depth, timeout);
  }
  void turn() {
    loop_a_->run_once(0);
    loop_b_->run_once(0);
    loop_a_->run_once(0);
  }
  // Until the condition holds; what is waited for comes by a timer.
  template <typename Condition>
  bool soon(Condition&& holds) {
    for (int i = 0; i < 1000 && !holds(); ++i) {
      loop_a_->run_once(5 * kMillisecond);
      loop_b_->run_once(0);
    }
    return holds();
  }
};

TEST_F(Waiting, FirstInFirstOutOverWorkers) {
  ASSERT_TRUE(wait(a_, one_) && wait(b_, two_) && wait(a_, three_));
  turn();
  EXPECT_TRUE(pool_.served.empty());
  EXPECT_EQ(queue_.waiting(), 3u);
  for (Client* expected : {&one_, &two_, &three_}) {
    pool_.free = 1;
    a_.note_room();  // seen on a, whoever's turn it is
    turn();
    ASSERT_FALSE(pool_.served.empty());
    EXPECT_EQ(pool_.served.back(), &expected->lease);
  }
  EXPECT_TRUE(queue_.empty());
}

TEST_F(Waiting, RoomThatCameBeforeAnyoneWasSeenToWait) {
  pool_.free = 1;
  ASSERT_TRUE(wait(a_, one_));
  turn();
  EXPECT_EQ(pool_.served.size(), 1u);
}

TEST_F(Waiting, ACallInVainKeepsTheOrder) {
  ASSERT_TRUE(wait(a_, one_) && wait(a_, two_));
  a_.note_room();
  a_.note_room();  // both are called, and there is no room at all
  turn();
  EXPECT_TRUE(pool_.served.empty());
  pool_.free = 2;
  a_.note_room();
  a_.note_room();
  turn();
  ASSERT_EQ(pool_.served.size(), 2u);
  EXPECT_EQ(pool_.served[0], &one_.lease);
}

TEST_F(Waiting, TheQueueHasADepth) {
  EXPECT_TRUE(wait(a_, one_, 2));
  EXPECT_TRUE(wait(b_, two_, 2));
  EXPECT_FALSE(wait(a_, three_, 2));
  two_.lease.abandon();
  EXPECT_TRUE(wait(a_, three_, 2));
}

TEST_F(Waiting, WhoIsCalledAndLeavesPassesTheCallOn) {
  ASSERT_TRUE(wait(b_, one_) && wait(a_, two_));
  turn();
  pool_.free = 1;
  a_.note_room();        // a message to b, about one
  one_.lease.abandon();  // its client leaves before it comes
  turn();
  turn();
  ASSERT_EQ(pool_.served.size(), 1u);
  EXPECT_EQ(pool_.served[0], &two_.lease);
  EXPECT_TRUE(queue_.empty());
}

TEST_F(Waiting, ATimeIsOver) {
  ASSERT_TRUE(wait(a_, one_, 10, 20 * kMillisecond));
  ASSERT_TRUE(wait(a_, two_, 10, 60 * kSecond));
  EXPECT_TRUE(soon([&] { return !one_.failed.empty(); }));
  EXPECT_FALSE(one_.lease.waiting());
  EXPECT_TRUE(two_.lease.waiting());
  EXPECT_EQ(queue_.waiting(), 1u);
}

TEST_F(Waiting, WhoIsLateMayGiveUpAnother) {
  ASSERT_TRUE(wait(a_, one_, 10, 20 * kMillisecond));
  ASSERT_TRUE(wait(a_, two_, 10, 20 * kMillisecond));
  one_.then = [&] { two_.lease.abandon(); };
  EXPECT_TRUE(soon([&] { return !one_.failed.empty(); }));
  EXPECT_TRUE(two_.failed.empty());
  EXPECT_TRUE(queue_.empty());
}

TEST_F(Waiting, RoomNobodyToldOfIsFound) {
  ASSERT_TRUE(wait(a_, one_) && wait(a_, two_) && wait(b_, three_));
  turn();
  pool_.free = 3;
  EXPECT_TRUE(soon([&] { return pool_.served.size() == 3; })) << "one look finds room for all";
}

TEST_F(Waiting, OtherWorkersAreAskedForTheirUnusedConnections) {
  ASSERT_TRUE(wait(a_, one_));
  turn();
  EXPECT_EQ(pool_.asked, 1) << "b alone";
}

TEST_F(Waiting, ARoomMayGoWhileAMessageIsOnItsWay) {
  auto room = std::make_unique<WaitingRoom>(*loop_b_, queue_, pool_, true);
  ASSERT_TRUE(wait(*room, one_));
  turn();
  a_.note_room();
  room.reset();
  turn();
  EXPECT_FALSE(one_.lease.waiting());
  EXPECT_TRUE(queue_.empty());
}

}  // namespace
}  // namespace pqedge::upstream
