#include "net/loop.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

#include "base/counters.h"
#include "base/log.h"
#include "base/memory.h"

namespace pqedge::net {
namespace {

constexpr int kMaxEvents = 256;
constexpr uint32_t kArity = 4;
constexpr Nanos kTellRefusedAfter = 5 * kMillisecond;

const counters::Counter kAddFailures(
    "pqedge_watch_failures_total",
    "Descriptors that the kernel would not watch: they were closed.");

uint32_t translate(uint32_t epoll_events) {
  uint32_t e = 0;
  if (epoll_events & EPOLLIN) e |= EventSource::kReadable;
  if (epoll_events & EPOLLOUT) e |= EventSource::kWritable;
  if (epoll_events & (EPOLLRDHUP | EPOLLHUP)) e |= EventSource::kHangup | EventSource::kReadable;
  if (epoll_events & EPOLLERR) e |= EventSource::kError | EventSource::kReadable;
  return e;
}

}  // namespace

void Timer::arm_at(Loop& loop, Nanos when) {
  if (loop_ != nullptr && loop_ != &loop) disarm();
  // A callback that arms for "now" gets the next turn: it must not hold this one.
  if (loop.firing_ && when <= loop.now_) when = loop.now_ + 1;
  deadline_ = when;
  if (loop_ == nullptr) {
    loop_ = &loop;
    loop.heap_insert(*this);
  } else if (when < loop.heap_[position_].when) {
    loop.heap_[position_].when = when;
    loop.sift_up(position_);
  }
}

void Timer::arm(Loop& loop, Nanos after) { arm_at(loop, loop.now() + after); }

void Timer::disarm() {
  deadline_ = kNever;
  if (loop_ != nullptr) loop_->heap_remove(*this);
}

Result<std::unique_ptr<Loop>> Loop::create() {
  std::unique_ptr<Loop> loop(new Loop);
  loop->epoll_ = epoll_create1(EPOLL_CLOEXEC);
  if (loop->epoll_ < 0) return fail_errno(errno, "cannot create an epoll instance");
  loop->wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (loop->wake_ < 0) return fail_errno(errno, "cannot create an eventfd");
  epoll_event ev{};
  ev.events = EPOLLIN | EPOLLET;
  ev.data.ptr = nullptr;  // the wake-up
  if (epoll_ctl(loop->epoll_, EPOLL_CTL_ADD, loop->wake_, &ev) != 0) {
    return fail_errno(errno, "cannot watch the eventfd");
  }
  loop->now_ = monotonic_now();
  return loop;
}

Loop::~Loop() {
  for (HeapEntry& e : heap_) {
    e.timer->loop_ = nullptr;
    e.timer->deadline_ = kNever;
  }
  if (wake_ >= 0) close(wake_);
  if (epoll_ >= 0) close(epoll_);
}

Result<void> Loop::add(int fd, EventSource& source, bool level_triggered) {
  epoll_event ev{};
  ev.events = level_triggered ? EPOLLIN : (EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
  ev.data.ptr = &source;
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &ev) == 0) return {};
  const int code = errno;
  kAddFailures.add();
  auto failed = fail_errno(code, "cannot watch descriptor {}", fd);
  if (last_add_failure_ == 0 || now_ - last_add_failure_ >= kSecond) {
    last_add_failure_ = now_;
    log::error("loop",
               "{}; what it was for is given up. Look at fs.epoll.max_user_watches and the "
               "memory",
               failed.error().message);
  }
  return failed;
}

void Loop::remove(int fd, EventSource& source) {
  epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
  if (dispatching_) removed_.push_back(&source);
  if (!refused_.empty()) std::erase(refused_, &source);
}

void Loop::set_interest(int fd, EventSource& source, bool readable) {
  epoll_event ev{};
  ev.events = readable ? EPOLLIN : 0u;
  ev.data.ptr = &source;
  epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &ev);
}

void Loop::tell_writable_soon(EventSource& source) {
  if (std::ranges::find(refused_, &source) != refused_.end()) return;
  refused_.push_back(&source);
  if (!tell_refused_.armed()) tell_refused_.arm(*this, kTellRefusedAfter);
}

void Loop::tell_refused() {
  std::vector<EventSource*> told;
  told.swap(refused_);
  dispatching_ = true;
  for (EventSource* source : told) {
    if (std::ranges::find(removed_, source) == removed_.end()) {
      source->on_events(EventSource::kWritable);
    }
  }
  dispatching_ = false;
  removed_.clear();
}

void Loop::post(std::function<void()> task) {
  {
    const std::lock_guard lock(posted_mutex_);
    posted_.push_back(std::move(task));
  }
  if (!woken_.exchange(true, std::memory_order_acq_rel)) {
    const uint64_t one = 1;
    while (write(wake_, &one, sizeof one) < 0 && errno == EINTR) {
    }
  }
}

void Loop::stop() {
  stop_.store(true, std::memory_order_release);
  post([] {});
}

bool Loop::in_loop_thread() const {
  return thread_.load(std::memory_order_relaxed) == static_cast<std::uintptr_t>(pthread_self());
}

void Loop::run() {
  while (!stop_.load(std::memory_order_acquire)) run_once(kNever);
}

int Loop::wait_millis(Nanos timeout) {
  const Nanos next = next_deadline();
  Nanos wait = timeout;
  if (next != kNever) wait = std::min(wait, next > now_ ? next - now_ : 0);
  if (!deferred_.empty()) wait = 0;
  if (wait == kNever) return -1;
  // Rounded up: waking before the deadline would only spin.
  return static_cast<int>(std::min<Nanos>((wait + kMillisecond - 1) / kMillisecond, 60'000));
}

void Loop::run_once(Nanos timeout) {
  thread_.store(static_cast<std::uintptr_t>(pthread_self()), std::memory_order_relaxed);
  epoll_event events[kMaxEvents];
  now_ = monotonic_now();
  const int n = epoll_wait(epoll_, events, kMaxEvents, wait_millis(timeout));
  now_ = monotonic_now();
  const Nanos began = now_;
  dispatching_ = true;
  bool woken = false;
  for (int i = 0; i < n; ++i) {
    auto* source = static_cast<EventSource*>(events[i].data.ptr);
    if (source == nullptr) {
      woken = true;
      continue;
    }
    if (!removed_.empty() && std::ranges::find(removed_, source) != removed_.end()) continue;
    source->on_events(translate(events[i].events));
  }
  dispatching_ = false;
  removed_.clear();
  if (woken) run_posted();
  fire_timers();
  run_deferred();
  if (memory::is_short()) [[unlikely]]
    memory::recover();
  busy_ += monotonic_now() - began;
}

void Loop::run_posted() {
  uint64_t count;
  while (read(wake_, &count, sizeof count) < 0 && errno == EINTR) {
  }
  woken_.store(false, std::memory_order_release);
  std::vector<std::function<void()>> tasks;
  {
    const std::lock_guard lock(posted_mutex_);
    tasks.swap(posted_);
  }
  for (auto& task : tasks) task();
}

void Loop::run_deferred() {
  // Work deferred by deferred work runs in this turn too, a bounded number of rounds: what is left
  // then runs in the next turn, which does not wait.
  for (int round = 0; round < 8 && !deferred_.empty(); ++round) {
    IntrusiveList<Deferred> batch;
    batch.splice_back(deferred_);
    while (!batch.empty()) {
      Deferred& work = batch.pop_front();
      work.callback_(work.context_);
    }
  }
}

Nanos Loop::next_deadline() { return heap_.empty() ? kNever : heap_.front().when; }

void Loop::fire_timers() {
  firing_ = true;
  while (!heap_.empty() && heap_.front().when <= now_) {
    Timer& timer = *heap_.front().timer;
    if (timer.deadline_ > heap_.front().when) {  // moved later since: put it right
      heap_.front().when = timer.deadline_;
      sift_down(0);
      continue;
    }
    heap_remove(timer);
    timer.deadline_ = kNever;
    timer.callback_(timer.context_);
  }
  firing_ = false;
}

void Loop::place(uint32_t i, HeapEntry e) {
  heap_[i] = e;
  e.timer->position_ = i;
}

void Loop::heap_insert(Timer& timer) {
  heap_.push_back({timer.deadline_, &timer});
  timer.position_ = static_cast<uint32_t>(heap_.size() - 1);
  sift_up(timer.position_);
}

void Loop::heap_remove(Timer& timer) {
  const uint32_t i = timer.position_;
  timer.loop_ = nullptr;
  const HeapEntry last = heap_.back();
  heap_.pop_back();
  if (last.timer == &timer) return;
  place(i, last);
  sift_up(i);
  sift_down(last.timer->position_);
}

void Loop::sift_up(uint32_t i) {
  const HeapEntry e = heap_[i];
  while (i > 0) {
    const uint32_t parent = (i - 1) / kArity;
    if (heap_[parent].when <= e.when) break;
    place(i, heap_[parent]);
    i = parent;
  }
  place(i, e);
}

void Loop::sift_down(uint32_t i) {
  const HeapEntry e = heap_[i];
  const auto size = static_cast<uint32_t>(heap_.size());
  for (;;) {
    const uint32_t first = i * kArity + 1;
    if (first >= size) break;
    uint32_t least = first;
    for (uint32_t c = first + 1; c < std::min(first + kArity, size); ++c) {
      if (heap_[c].when < heap_[least].when) least = c;
    }
    if (heap_[least].when >= e.when) break;
    place(i, heap_[least]);
    i = least;
  }
  place(i, e);
}

}  // namespace pqedge::net
