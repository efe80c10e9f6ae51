#include "edge/quiet_thread.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <utility>

namespace pqedge::edge {
namespace {

// A third of the share of other threads on a CPU that has no time to spare: it must not be kept
// waiting for long either, since the main thread waits for it.
constexpr int kNicer = 5;

}  // namespace

QuietThread::QuietThread() : thread_([this] { work(); }) {}

QuietThread::~QuietThread() {
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void QuietThread::run(std::function<void()> task) {
  std::unique_lock lock(mutex_);
  task_ = std::move(task);
  changed_.notify_all();
  changed_.wait(lock, [this] { return !task_; });
}

void QuietThread::work() {
  pthread_setname_np(pthread_self(), "reload");
  // On Linux this is of the thread alone (setpriority(2)); it works as well at the usual priority.
  const auto self = static_cast<id_t>(gettid());
  [[maybe_unused]] const int set =
      setpriority(PRIO_PROCESS, self, getpriority(PRIO_PROCESS, self) + kNicer);
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return end_ || task_; });
    if (end_) return;
    lock.unlock();
    task_();  // run() waits: nobody else touches it
    lock.lock();
    task_ = nullptr;
    changed_.notify_all();
  }
}

}  // namespace pqedge::edge
