#include "jobs/signing_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace pqedge::jobs {
namespace {

using crypto::SlowSigner;

net::Address address(const char* ip) { return *net::Address::from_ip(ip, 1234); }

class Signing : public ::testing::Test {
 protected:
  Signing() : loop_(std::move(*net::Loop::create())) {}

  // A task that waits for `go` on its thread, and tells how it ended.
  void submit(SigningThreads& threads, std::shared_ptr<SlowSigner::Place> place,
              std::shared_future<void> go = {}) {
    SlowSigner::Task task;
    task.place = std::move(place);
    task.loop = loop_.get();
    task.run = [this, go] {
      ++running_;
      if (go.valid()) go.wait();
    };
    task.finished = [this](bool ran) { ++(ran ? done_ : late_); };
    threads.submit(std::move(task));
  }
  bool until(const std::function<bool()>& condition) {
    for (int i = 0; i < 1000 && !condition(); ++i) loop_->run_once(10 * kMillisecond);
    return condition();
  }

  std::unique_ptr<net::Loop> loop_;
  std::atomic<int> running_{0};
  int done_ = 0;
  int late_ = 0;
};

TEST_F(Signing, ATaskRunsThereAndEndsHere) {
  const auto threads = SigningThreads::start({.threads = 1});
  submit(*threads, threads->reserve(address("192.0.2.1")));
  EXPECT_TRUE(until([&] { return done_ == 1; }));
  EXPECT_EQ(running_, 1);
}

TEST_F(Signing, TheQueueIsBounded) {
  const auto threads = SigningThreads::start({.threads = 1, .queue = 2});
  auto one = threads->reserve(address("192.0.2.1"));
  auto two = threads->reserve(address("192.0.2.2"));
  EXPECT_NE(one, nullptr);
  EXPECT_NE(two, nullptr);
  EXPECT_EQ(threads->reserve(address("192.0.2.3")), nullptr);
  one = nullptr;
  EXPECT_NE(threads->reserve(address("192.0.2.3")), nullptr);
}

TEST_F(Signing, AnAddressHasItsShare) {
  const auto threads = SigningThreads::start({.threads = 1, .queue = 100, .share = 2});
  auto one = threads->reserve(address("192.0.2.1"));
  auto two = threads->reserve(address("192.0.2.1"));
  EXPECT_EQ(threads->reserve(address("192.0.2.1")), nullptr);
  EXPECT_NE(threads->reserve(address("192.0.2.2")), nullptr);
  one = nullptr;
  EXPECT_NE(threads->reserve(address("192.0.2.1")), nullptr);
  // A /64 is one.
  auto three = threads->reserve(address("2001:db8::1"));
  auto four = threads->reserve(address("2001:db8::2"));
  EXPECT_EQ(threads->reserve(address("2001:db8::3")), nullptr);
  EXPECT_NE(threads->reserve(address("2001:db8:0:1::3")), nullptr);
}

TEST_F(Signing, WhoWaitedTooLongIsTold) {
  const auto threads = SigningThreads::start({.threads = 1, .deadline = 10 * kMillisecond});
  std::promise<void> go;
  submit(*threads, threads->reserve(address("192.0.2.1")), go.get_future().share());
  ASSERT_TRUE(until([&] { return running_ == 1; }));
  submit(*threads, threads->reserve(address("192.0.2.2")));
  const Nanos since = monotonic_now();
  until([&] { return monotonic_now() - since > 20 * kMillisecond; });
  go.set_value();
  EXPECT_TRUE(until([&] { return done_ + late_ == 2; }));
  EXPECT_EQ(late_, 1);
  EXPECT_EQ(running_, 1);
}

TEST_F(Signing, APlaceIsFreeOnceTheSignatureIsMade) {
  const auto threads = SigningThreads::start({.threads = 1, .queue = 1});
  submit(*threads, threads->reserve(address("192.0.2.1")));
  EXPECT_TRUE(until([&] { return done_ == 1; }));
  EXPECT_NE(threads->reserve(address("192.0.2.1")), nullptr);
}

// What waits is dropped, or begun where the thread comes to it before it hears of the end.
TEST_F(Signing, StoppingEndsWhatRuns) {
  auto threads = SigningThreads::start({.threads = 1});
  std::promise<void> go;
  submit(*threads, threads->reserve(address("192.0.2.1")), go.get_future().share());
  ASSERT_TRUE(until([&] { return running_ == 1; }));
  submit(*threads, threads->reserve(address("192.0.2.2")));
  std::thread stopper([&] { threads->stop(); });
  go.set_value();
  stopper.join();
  const int ran = running_;
  EXPECT_TRUE(ran == 1 || ran == 2) << ran;
  EXPECT_TRUE(until([&] { return done_ == ran; }));
  // A place outlives the threads.
  auto place = threads->reserve(address("192.0.2.1"));
  threads = nullptr;
  place = nullptr;
}

}  // namespace
}  // namespace pqedge::jobs
