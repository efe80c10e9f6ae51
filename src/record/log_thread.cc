#include "record/log_thread.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <format>
#include <system_error>

namespace pqedge::record {
namespace {

constexpr size_t kBatch = 256 * 1024;  // text taken from the queue before it is written
constexpr int kRetryMillis = 1000;     // after a write that failed
constexpr int kStopRetryMillis = 50;
constexpr Nanos kComplaintEvery = 60 * kSecond;
constexpr Nanos kFarewell = 2 * kSecond;

}  // namespace

LogThread::LogThread(std::string_view name, LogFile file, Drain drain, Complain complain)
    : file_(std::move(file)),
      drain_(std::move(drain)),
      complain_(std::move(complain)),
      errors_("pqedge_log_write_errors_total", "Writes to a log file that failed.",
              {{"log", std::string(name)}}),
      event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Result<std::unique_ptr<LogThread>> LogThread::start(std::string_view name, LogFile file,
                                                    Drain drain, Complain complain) {
  std::unique_ptr<LogThread> t(
      new LogThread(name, std::move(file), std::move(drain), std::move(complain)));
  if (!t->event_) return fail_errno(errno, "cannot make an eventfd for the {} log", name);
  // Signals are for the main thread, whatever the order in which threads are made.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  t->thread_ = std::thread([&log = *t] { log.run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return t;
}

LogThread::~LogThread() {
  if (!thread_.joinable()) return;
  stop_.store(true, std::memory_order_release);
  wake();
  thread_.join();
}

void LogThread::wake() {
  const uint64_t one = 1;
  while (::write(event_.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
}

void LogThread::reopen() {
  const std::lock_guard lock(orders_mutex_);
  reopen_ordered_ = true;
  wake();
}

void LogThread::replace(LogFile file) {
  const std::lock_guard lock(orders_mutex_);
  replacement_ = std::make_unique<LogFile>(std::move(file));
  wake();
}

// The old file keeps the beginning of a line; the new one must not start with the rest.
void LogThread::drop_rest_of_line() {
  const size_t end = text_.find('\n');
  text_.erase(0, end == std::string::npos ? text_.size() : end + 1);
}

void LogThread::follow_orders() {
  const std::lock_guard lock(orders_mutex_);
  const bool broken = file_.mid_line();
  if (replacement_ != nullptr) {
    file_ = std::move(*replacement_);
    replacement_.reset();
    reopen_ordered_ = false;
    last_complaint_ = 0;
    if (broken) drop_rest_of_line();
  } else if (reopen_ordered_) {
    reopen_ordered_ = false;
    const auto opened = file_.reopen();
    if (!opened) {
      complain_(opened.error().message + "; the old file stays in use");
    } else if (*opened && broken) {
      drop_rest_of_line();
    }
  }
}

LogFile::Status LogThread::write_batch() {
  const LogFile::Status status = file_.write(text_);
  if (status != LogFile::Status::failed) return status;
  errors_.add();
  const Nanos now = monotonic_now();
  if (last_complaint_ == 0 || now - last_complaint_ >= kComplaintEvery) {
    last_complaint_ = now;
    complain_(std::format("cannot write {}: {}", file_.display_name(),
                          std::generic_category().message(file_.errno_value())));
  }
  return status;
}

// Returns when the time is up, the thread is woken, or (for_file) the file takes more.
void LogThread::wait(int millis, bool for_file) {
  pollfd fds[2] = {{event_.get(), POLLIN, 0}, {file_.poll_fd(), POLLOUT, 0}};
  ::poll(fds, for_file ? 2 : 1, millis);
  uint64_t ignored;
  [[maybe_unused]] const ssize_t n = ::read(event_.get(), &ignored, sizeof ignored);
}

void LogThread::run() {
  Nanos give_up = kNever;
  LogFile::Status status = LogFile::Status::ok;
  while (true) {
    const bool stopping = stop_.load(std::memory_order_acquire);
    if (stopping && give_up == kNever) give_up = monotonic_now() + kFarewell;
    // While the file takes nothing, hurrying helps nobody: each push would cost a wake-up.
    if (status == LogFile::Status::ok) hurried_.store(false, std::memory_order_relaxed);

    bool drained = false;
    while (text_.size() < kBatch && drain_(text_)) drained = true;
    const bool full = text_.size() >= kBatch;
    status = write_batch();
    follow_orders();

    if (status != LogFile::Status::ok) {
      // What is queued stays there; when a queue is full, its users drop and count.
      if (stopping && monotonic_now() >= give_up) return;
      wait(stopping ? kStopRetryMillis : kRetryMillis, status == LogFile::Status::blocked);
    } else if (drained) {
      if (!full && !stopping) wait(static_cast<int>(kBatchDelay / kMillisecond), false);
    } else if (stopping) {
      return;
    } else {
      asleep_.store(true, std::memory_order_seq_cst);
      // Once more, for what was queued before others could see that store.
      if (!drain_(text_)) wait(-1, false);
      asleep_.store(false, std::memory_order_relaxed);
    }
  }
}

}  // namespace pqedge::record
