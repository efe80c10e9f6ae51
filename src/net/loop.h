// The event loop of one thread: readiness, timers, work at the end of a turn, messages from other
// threads. Everything but post() and stop() is for the loop's own thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/intrusive_list.h"
#include "base/result.h"
#include "base/time.h"

namespace pqedge::net {

class Loop;

// Receives readiness of one file descriptor. Registration is edge-triggered for reading and writing
// at once: read until would_block or a short read, write until would_block.
class EventSource {
 public:
  static constexpr uint32_t kReadable = 1;  // bytes, a connection to accept, end of stream
  static constexpr uint32_t kWritable = 2;
  static constexpr uint32_t kHangup = 4;  // the peer closed its direction: read to see the end
  static constexpr uint32_t kError = 8;   // SO_ERROR tells

  virtual void on_events(uint32_t events) = 0;

 protected:
  EventSource() = default;
  // The loop must have been told (remove) before; it tolerates sources that die within a turn.
  ~EventSource() = default;
};

// A timer owned by its user and known to at most one loop. Destroying it disarms it.
class Timer {
 public:
  using Callback = void (*)(void* context);

  Timer() = default;
  Timer(Callback callback, void* context) : callback_(callback), context_(context) {}
  ~Timer() { disarm(); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  void set(Callback callback, void* context) {
    callback_ = callback;
    context_ = context;
  }
  // Fires once, not before `when` (a loop time); timers of one turn fire in the order of their
  // times. Armed for the past by a timer's callback, it fires in the next turn. Arming again moves
  // it; moving it later is O(1), since the heap is only put right when the old time comes.
  void arm_at(Loop& loop, Nanos when);
  void arm(Loop& loop, Nanos after);
  void disarm();
  bool armed() const { return deadline_ != kNever; }
  Nanos deadline() const { return deadline_; }

 private:
  friend class Loop;
  Callback callback_ = nullptr;
  void* context_ = nullptr;
  Loop* loop_ = nullptr;     // set while the heap has an entry
  Nanos deadline_ = kNever;  // kNever: disarmed
  uint32_t position_ = 0;    // index in the heap
};

// Work once at the end of this turn (flush what the turn wrote, close what it finished).
// Destroying it cancels it.
class Deferred : public ListNode<Deferred> {
 public:
  using Callback = void (*)(void* context);
  Deferred() = default;
  Deferred(Callback callback, void* context) : callback_(callback), context_(context) {}
  void set(Callback callback, void* context) {
    callback_ = callback;
    context_ = context;
  }

 private:
  friend class Loop;
  Callback callback_ = nullptr;
  void* context_ = nullptr;
};

class Loop {
 public:
  static Result<std::unique_ptr<Loop>> create();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Registers fd, which stays the caller's. `level_triggered` is for listeners: an accept budget
  // may leave connections waiting.
  Result<void> add(int fd, EventSource& source, bool level_triggered = false);
  // Must come before close(fd). No event reaches the source after it, also not in this turn.
  void remove(int fd, EventSource& source);
  // Level-triggered sources only: stop and resume being told (a listener out of descriptors).
  void set_interest(int fd, EventSource& source, bool readable);
  // The kernel had no memory for what `source` wrote (ENOBUFS, ENOMEM): no edge comes when there is
  // some. It is told kWritable in some milliseconds.
  void tell_writable_soon(EventSource& source);

  // The time read at the start of this turn.
  Nanos now() const { return now_; }

  void defer(Deferred& work) {
    if (!work.linked()) deferred_.push_back(work);
  }

  // From any thread: runs `task` on the loop's thread in a coming turn. Tasks of one thread keep
  // their order. After the loop ended, tasks are dropped (destroyed) unrun.
  void post(std::function<void()> task);

  // Runs turns until stop(). Ends at the end of a turn.
  void run();
  void stop();  // from any thread
  // One turn that waits at most `timeout`; for tests and for programs with a loop of their own.
  void run_once(Nanos timeout);

  bool in_loop_thread() const;
  // Time spent working (not waiting) since the start, for load metrics.
  Nanos busy() const { return busy_; }

 private:
  friend class Timer;
  Loop() = default;

  struct HeapEntry {
    Nanos when;  // <= timer->deadline_; put right lazily
    Timer* timer;
  };
  void heap_insert(Timer& timer);
  void heap_remove(Timer& timer);
  void sift_up(uint32_t i);
  void sift_down(uint32_t i);
  void place(uint32_t i, HeapEntry e);
  Nanos next_deadline();
  void fire_timers();
  void run_deferred();
  void run_posted();
  void tell_refused();
  int wait_millis(Nanos timeout);

  int epoll_ = -1;
  int wake_ = -1;  // eventfd
  Nanos now_ = 0;
  Nanos busy_ = 0;
  std::vector<HeapEntry> heap_;
  IntrusiveList<Deferred> deferred_;
  std::vector<EventSource*> removed_;  // sources removed in this turn
  std::vector<EventSource*> refused_;  // for tell_writable_soon()
  Timer tell_refused_{[](void* self) { static_cast<Loop*>(self)->tell_refused(); }, this};
  Nanos last_add_failure_ = 0;  // that was logged
  bool dispatching_ = false;
  bool firing_ = false;
  std::atomic<bool> stop_{false};

  std::mutex posted_mutex_;
  std::vector<std::function<void()>> posted_;
  std::atomic<bool> woken_{false};
  std::atomic<std::uintptr_t> thread_{0};
};

}  // namespace pqedge::net
