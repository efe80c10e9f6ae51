#include "net/loop.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "unit/net/support.h"

namespace pqedge::net {
namespace {

// ---- messages from other threads ----------------------------------------------------------------

// Run under ThreadSanitizer too.
TEST(LoopPost, TasksOfEachThreadKeepTheirOrder) {
  constexpr size_t kThreads = 4;
  constexpr int kTasks = 5'000;
  auto loop = make_loop();
  std::array<int, kThreads> next{};  // touched by the loop's thread only
  int done = 0;
  bool in_order = true;
  std::thread runner([&] { loop->run(); });
  std::vector<std::thread> posters;
  for (size_t t = 0; t < kThreads; ++t) {
    posters.emplace_back([&, t] {
      for (int i = 0; i < kTasks; ++i) {
        loop->post([&, t, i] {
          in_order = in_order && next[t] == i && loop->in_loop_thread();
          next[t] = i + 1;
          if (++done == static_cast<int>(kThreads) * kTasks) loop->stop();
        });
      }
    });
  }
  for (std::thread& p : posters) p.join();
  runner.join();
  EXPECT_TRUE(in_order);
  for (const int n : next) EXPECT_EQ(n, kTasks);
}

// Two loops that answer each other: a wake-up that gets lost would stop the game.
TEST(LoopPost, NoWakeUpIsLost) {
  constexpr int kRounds = 5'000;
  auto left = make_loop(), right = make_loop();
  int rounds = 0;
  std::function<void()> serve = [&] {
    if (++rounds == kRounds) {
      right->stop();
      left->stop();
      return;
    }
    right->post([&] { left->post(serve); });
  };
  std::thread runner([&] { right->run(); });
  left->post(serve);
  left->run();
  runner.join();
  EXPECT_EQ(rounds, kRounds);
}

TEST(LoopPost, ATaskMayPostAndStop) {
  auto loop = make_loop();
  int ran = 0;
  loop->post([&] {
    ++ran;
    loop->post([&] {
      ++ran;
      loop->stop();
    });
  });
  loop->run();
  EXPECT_EQ(ran, 2);
}

TEST(LoopPost, TasksOfAnEndedLoopAreDestroyedUnrun) {
  auto token = std::make_shared<int>(0);
  {
    auto loop = make_loop();
    loop->post([token] { ++*token; });
  }
  EXPECT_EQ(*token, 0);
  EXPECT_EQ(token.use_count(), 1);
}

TEST(LoopPost, StopFromAnotherThreadWakesTheLoop) {
  auto loop = make_loop();
  std::thread stopper([&] { loop->stop(); });
  loop->run();
  stopper.join();
}

// ---- timers -------------------------------------------------------------------------------------

// The lazy heap against std::multimap: timers are armed, moved both ways and disarmed at random,
// some from inside a callback, and fire when the model says.
class TimerModel {
 public:
  explicit TimerModel(uint32_t seed) : random_(seed) {
    for (size_t i = 0; i < kTimers; ++i) {
      entries_[i] = {this, i};
      timers_[i].set(
          [](void* context) {
            auto* e = static_cast<Entry*>(context);
            e->model->on_fire(e->index);
          },
          &entries_[i]);
    }
  }

  void run(Loop& loop) {
    loop_ = &loop;
    for (int step = 0; step < 3'000; ++step) {
      for (int n = 0; n < 4; ++n) change(random_() % kTimers);
      // The loop's own clock moves on by itself; what was due by its new time has fired.
      loop.run_once(0);
      for (const auto& [when, index] : model_) {
        ASSERT_GT(when, loop.now()) << "timer " << index << " is late";
        break;
      }
      for (size_t i = 0; i < kTimers; ++i) ASSERT_EQ(timers_[i].armed(), due_[i] != kNever);
    }
    ASSERT_GT(fired_, 1'000);
  }

 private:
  static constexpr size_t kTimers = 200;
  struct Entry {
    TimerModel* model;
    size_t index;
  };

  void forget(size_t i) {
    if (due_[i] == kNever) return;
    const auto [begin, end] = model_.equal_range(due_[i]);
    for (auto it = begin; it != end; ++it) {
      if (it->second == i) {
        model_.erase(it);
        break;
      }
    }
    due_[i] = kNever;
  }

  void change(size_t i) {
    forget(i);
    if (random_() % 4 == 0) {
      timers_[i].disarm();
      return;
    }
    // From now to a while ahead of the loop's time.
    const Nanos when = loop_->now() + random_() % (300 * kMicrosecond);
    timers_[i].arm_at(*loop_, when);
    ASSERT_GE(timers_[i].deadline(), when);
    due_[i] = timers_[i].deadline();
    model_.emplace(due_[i], i);
  }

  void on_fire(size_t i) {
    ++fired_;
    ASSERT_NE(due_[i], kNever) << "fired though it was disarmed";
    ASSERT_LE(due_[i], loop_->now()) << "fired early";
    ASSERT_EQ(model_.begin()->first, due_[i]) << "out of order";
    ASSERT_FALSE(timers_[i].armed());
    forget(i);
    if (random_() % 3 == 0) change(random_() % kTimers);
  }

  std::mt19937 random_;
  Loop* loop_ = nullptr;
  std::array<Timer, kTimers> timers_;
  std::array<Entry, kTimers> entries_;
  std::array<Nanos, kTimers> due_ = [] {
    std::array<Nanos, kTimers> a;
    a.fill(kNever);
    return a;
  }();
  std::multimap<Nanos, size_t> model_;
  int fired_ = 0;
};

TEST(LoopTimers, FireAsAMultimapWould) {
  for (const uint32_t seed : {1u, 2u, 3u}) {
    auto loop = make_loop();
    TimerModel model(seed);
    model.run(*loop);
    if (HasFatalFailure()) return;
  }
}

TEST(LoopTimers, ATimerThatArmsItselfForNowDoesNotHoldTheTurn) {
  auto loop = make_loop();
  struct Context {
    Loop* loop;
    Timer timer;
    int fired = 0;
  } c{loop.get(), {}, 0};
  c.timer.set(
      [](void* context) {
        auto* self = static_cast<Context*>(context);
        ++self->fired;
        self->timer.arm(*self->loop, 0);
      },
      &c);
  c.timer.arm(*loop, 0);
  loop->run_once(0);
  EXPECT_EQ(c.fired, 1);
  loop->run_once(kSecond);  // does not wait
  EXPECT_EQ(c.fired, 2);
}

TEST(LoopTimers, DestroyingATimerDisarmsIt) {
  auto loop = make_loop();
  bool fired = false;
  {
    Timer timer([](void* context) { *static_cast<bool*>(context) = true; }, &fired);
    timer.arm(*loop, 0);
  }
  loop->run_once(0);
  EXPECT_FALSE(fired);
}

TEST(LoopTimers, ATimerMayOutliveItsLoop) {
  Timer timer([](void*) {}, nullptr);
  {
    auto loop = make_loop();
    timer.arm(*loop, kSecond);
    EXPECT_TRUE(timer.armed());
  }
  EXPECT_FALSE(timer.armed());
}

TEST(LoopTimers, MovesToAnotherLoop) {
  auto first = make_loop(), second = make_loop();
  int fired = 0;
  Timer timer([](void* context) { ++*static_cast<int*>(context); }, &fired);
  timer.arm(*first, 0);
  timer.arm(*second, 0);
  first->run_once(0);
  EXPECT_EQ(fired, 0);
  second->run_once(0);
  EXPECT_EQ(fired, 1);
}

// ---- the end of a turn --------------------------------------------------------------------------

struct Note {
  std::string* log;
  char letter;
};
void write_note(void* context) {
  auto* note = static_cast<Note*>(context);
  *note->log += note->letter;
}

TEST(LoopDeferred, RunsOnceInOrder) {
  auto loop = make_loop();
  std::string log;
  Note notes[] = {{&log, 'a'}, {&log, 'b'}, {&log, 'c'}};
  Deferred a(write_note, &notes[0]), b(write_note, &notes[1]), c(write_note, &notes[2]);
  loop->defer(b);
  loop->defer(a);
  loop->defer(b);  // already there
  loop->defer(c);
  loop->run_once(0);
  EXPECT_EQ(log, "bac");
  loop->run_once(0);
  EXPECT_EQ(log, "bac");
}

TEST(LoopDeferred, DestroyingItCancels) {
  auto loop = make_loop();
  std::string log;
  Note note{&log, 'x'};
  {
    Deferred work(write_note, &note);
    loop->defer(work);
  }
  loop->run_once(0);
  EXPECT_EQ(log, "");
}

struct Chain {
  Loop* loop;
  Deferred work;
  int runs = 0;
  std::unique_ptr<Deferred> victim;
};

TEST(LoopDeferred, WorkThatDefersItselfDoesNotHoldTheLoop) {
  auto loop = make_loop();
  Chain chain{loop.get(), {}, 0, nullptr};
  chain.work.set(
      [](void* context) {
        auto* self = static_cast<Chain*>(context);
        ++self->runs;
        self->loop->defer(self->work);
      },
      &chain);
  loop->defer(chain.work);
  loop->run_once(kNever);  // does not wait either
  const int first = chain.runs;
  EXPECT_GE(first, 1);
  EXPECT_LE(first, 16);
  loop->run_once(kNever);
  EXPECT_GT(chain.runs, first);
}

TEST(LoopDeferred, WorkMayDestroyOtherWorkOfTheSameTurn) {
  auto loop = make_loop();
  std::string log;
  Note note{&log, 'x'};
  Chain chain{loop.get(), {}, 0, std::make_unique<Deferred>(write_note, &note)};
  chain.work.set([](void* context) { static_cast<Chain*>(context)->victim.reset(); }, &chain);
  loop->defer(chain.work);
  loop->defer(*chain.victim);
  loop->run_once(0);
  EXPECT_EQ(log, "");
}

// ---- sources ------------------------------------------------------------------------------------

struct Pipe {
  Pipe() {
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    ours = Fd(fds[0]);
    theirs = Fd(fds[1]);
  }
  Fd ours, theirs;
};

// Two sources with events in the same turn: each destroys the other, so only one may be told.
struct Rival final : EventSource {
  Rival(Loop& l, std::unique_ptr<Rival>& o, int& t) : loop(l), other(o), told(t) {
    EXPECT_TRUE(loop.add(pipe.ours.get(), *this).has_value());
  }
  ~Rival() { loop.remove(pipe.ours.get(), *this); }
  void on_events(uint32_t) override {
    ++told;
    other.reset();
  }
  Loop& loop;
  std::unique_ptr<Rival>& other;
  int& told;
  Pipe pipe;
};

TEST(LoopSources, ARemovedSourceHearsNothingMoreInTheTurn) {
  auto loop = make_loop();
  std::unique_ptr<Rival> left, right;
  int told = 0;
  left = std::make_unique<Rival>(*loop, right, told);
  right = std::make_unique<Rival>(*loop, left, told);
  ASSERT_TRUE(run_until(*loop, [&] { return told > 0; }));
  EXPECT_EQ(told, 1);
  EXPECT_NE(left == nullptr, right == nullptr);
}

struct Recorder : EventSource {
  void on_events(uint32_t e) override {
    ++calls;
    events |= e;
  }
  int calls = 0;
  uint32_t events = 0;
};

TEST(LoopSources, EdgesAreToldOnce) {
  auto loop = make_loop();
  Pipe pipe;
  Recorder r;
  ASSERT_TRUE(loop->add(pipe.ours.get(), r).has_value());
  ASSERT_EQ(write(pipe.theirs.get(), "x", 1), 1);
  loop->run_once(kSecond);
  EXPECT_EQ(r.events, EventSource::kReadable | EventSource::kWritable);
  loop->run_once(0);
  EXPECT_EQ(r.calls, 1);  // unread, yet not told again
  pipe.theirs.reset();
  loop->run_once(kSecond);
  EXPECT_EQ(r.calls, 2);
  EXPECT_TRUE(r.events & EventSource::kHangup);
  loop->remove(pipe.ours.get(), r);
}

TEST(LoopSources, LevelsAreToldUntilTheInterestEnds) {
  auto loop = make_loop();
  Pipe pipe;
  Recorder r;
  ASSERT_TRUE(loop->add(pipe.ours.get(), r, true).has_value());
  ASSERT_EQ(write(pipe.theirs.get(), "x", 1), 1);
  loop->run_once(kSecond);
  loop->run_once(kSecond);
  EXPECT_EQ(r.calls, 2);
  loop->set_interest(pipe.ours.get(), r, false);
  loop->run_once(0);
  EXPECT_EQ(r.calls, 2);
  loop->set_interest(pipe.ours.get(), r, true);
  loop->run_once(kSecond);
  EXPECT_EQ(r.calls, 3);
  loop->remove(pipe.ours.get(), r);
}

TEST(LoopSources, ADescriptorThatCannotBeWatchedIsAnError) {
  auto loop = make_loop();
  Recorder r;
  EXPECT_FALSE(loop->add(-1, r).has_value());
}

}  // namespace
}  // namespace pqedge::net
