#include "base/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>

#include "base/counters.h"
#include "base/log.h"
#include "base/time.h"

namespace pqedge::memory {

namespace detail {
std::atomic<bool> short_of_memory{false};
std::atomic<bool> refusing_work{false};
}  // namespace detail

namespace {

constexpr size_t kPieces = 32;
constexpr size_t kPiece = kReserve / kPieces;
constexpr size_t kRefuseBelow = kPieces / 2;
constexpr size_t kNoSize = size_t{1} << 30;  // a request for that much is a fault of its maker
constexpr Nanos kPatience = 2 * kSecond;     // of one allocation, once the reserve is used up
constexpr Nanos kNap = 2 * kMillisecond;     // between its tries
constexpr Nanos kCalm = 200 * kMillisecond;  // without a failure, before work is taken again
constexpr Nanos kComplaintEvery = 10 * kSecond;
constexpr int kOutOfMemory = 71;  // EX_OSERR of sysexits.h

const counters::Counter kFailures("pqedge_allocation_failures_total",
                                  "Allocations that failed and were tried again.");
const counters::Counter kShortages("pqedge_memory_shortages_total",
                                   "Times that new work was refused for want of memory.");
const counters::Counter kRefusing("pqedge_memory_refusing",
                                  "1 while new work is refused for want of memory.", {},
                                  counters::Kind::gauge);

std::array<std::atomic<void*>, kPieces> reserve{};
std::atomic<bool> reserve_made{false};
std::atomic<uint32_t> pieces_left{0};
std::atomic<uint64_t> failures{0};  // not yet counted: a counter may allocate
std::atomic<Nanos> last_failure{0};
std::atomic_flag recovering = ATOMIC_FLAG_INIT;
// Of the thread that recovers.
Nanos last_complaint = 0;
bool refusal_told = false;

bool take_piece() {
  for (auto& place : reserve) {
    void* const piece = place.exchange(nullptr, std::memory_order_acq_rel);
    if (piece == nullptr) continue;
    pieces_left.fetch_sub(1, std::memory_order_relaxed);
    ::munmap(piece, kPiece);
    return true;
  }
  return false;
}

bool fill_up() {
  for (auto& place : reserve) {
    if (place.load(std::memory_order_acquire) != nullptr) continue;
    void* const piece =
        ::mmap(nullptr, kPiece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (piece == MAP_FAILED) return false;
    void* none = nullptr;
    pieces_left.fetch_add(1, std::memory_order_relaxed);
    if (place.compare_exchange_strong(none, piece, std::memory_order_acq_rel)) continue;
    pieces_left.fetch_sub(1, std::memory_order_relaxed);
    ::munmap(piece, kPiece);
  }
  return true;
}

void note_failure() {
  failures.fetch_add(1, std::memory_order_relaxed);
  last_failure.store(monotonic_now(), std::memory_order_relaxed);
  detail::short_of_memory.store(true, std::memory_order_relaxed);
}

[[noreturn]] void give_up(size_t size) {
  char text[160];
  const int n =
      std::snprintf(text, sizeof text,
                    "pqedge: out of memory: %zu bytes could not be had within %llu s, and "
                    "the reserve is used up; the process ends\n",
                    size, static_cast<unsigned long long>(kPatience / kSecond));
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, static_cast<size_t>(n));
  ::_exit(kOutOfMemory);
}

// Makes room for one more try of an allocation that gives up at `end`.
void relieve(size_t size, Nanos end) {
  note_failure();
  const bool relieved = take_piece();
  if (reserve_made.load(std::memory_order_relaxed) &&
      pieces_left.load(std::memory_order_relaxed) < kRefuseBelow) {
    detail::refusing_work.store(true, std::memory_order_relaxed);
  }
  if (relieved) return;
  if (monotonic_now() >= end) give_up(size);
  // The kernel may have some again, but no turn of a loop has ended since.
  if (fill_up() || pieces_left.load(std::memory_order_relaxed) != 0) return;
  // Other threads may give some back meanwhile, and other processes.
  const timespec nap{0, static_cast<long>(kNap)};
  ::nanosleep(&nap, nullptr);
}

// After a first failure. `attempt` allocates, or returns nullptr.
template <typename Attempt>
[[gnu::noinline]] void* try_again(size_t size, Attempt attempt) {
  if (size == 0 || size >= kNoSize) return nullptr;
  const Nanos end = monotonic_now() + kPatience;
  for (;;) {
    relieve(size, end);
    if (void* const p = attempt(); p != nullptr) return p;
  }
}

void tell(bool whole, Nanos now) {
  const uint64_t failed = failures.exchange(0, std::memory_order_relaxed);
  if (failed != 0) kFailures.add(failed);
  if (failed != 0 && (last_complaint == 0 || now - last_complaint >= kComplaintEvery)) {
    last_complaint = now;
    log::error("memory", "{} allocations failed and were made from the reserve, which is {}",
               failed, whole ? "whole again" : "not whole yet");
  }
  const bool refusing_now = refusing();
  if (refusing_now == refusal_told) return;
  refusal_told = refusing_now;
  if (refusing_now) {
    kRefusing.add();
    kShortages.add();
    log::error("memory",
               "the process is out of memory: new connections wait and requests get 503 until some "
               "is free. Raise its limit, or lower server.max_connections");
  } else {
    kRefusing.subtract();
    log::info("memory", "there is memory again: new connections and requests are taken");
  }
}

}  // namespace

void make_reserve() {
  if (!fill_up()) {
    log::warning("memory", "the reserve of {} MiB cannot be had in full: memory is short already",
                 kReserve >> 20);
  }
  reserve_made.store(true, std::memory_order_relaxed);
}

void recover() {
  if (recovering.test_and_set(std::memory_order_acquire)) return;
  const Nanos now = monotonic_now();
  const bool whole = !reserve_made.load(std::memory_order_relaxed) || fill_up();
  // A failure of another thread between these lines is seen at the next one.
  if (whole && now - last_failure.load(std::memory_order_relaxed) >= kCalm) {
    detail::refusing_work.store(false, std::memory_order_relaxed);
    detail::short_of_memory.store(false, std::memory_order_relaxed);
  }
  tell(whole, now);
  recovering.clear(std::memory_order_release);
}

void* allocate(size_t size) {
  if (void* const p = std::malloc(size); p != nullptr) [[likely]]
    return p;
  return try_again(size, [size] { return std::malloc(size); });
}

void* allocate_zeroed(size_t count, size_t size) {
  if (void* const p = std::calloc(count, size); p != nullptr) [[likely]]
    return p;
  size_t whole = 0;
  if (__builtin_mul_overflow(count, size, &whole)) return nullptr;
  return try_again(whole, [count, size] { return std::calloc(count, size); });
}

void* reallocate(void* old, size_t size) {
  if (size == 0) {
    std::free(old);
    return nullptr;
  }
  if (void* const p = std::realloc(old, size); p != nullptr) [[likely]]
    return p;
  return try_again(size, [old, size] { return std::realloc(old, size); });
}

void* allocate_aligned(size_t alignment, size_t size) {
  const auto attempt = [alignment, size]() -> void* {
    void* p = nullptr;
    return ::posix_memalign(&p, alignment, size) == 0 ? p : nullptr;
  };
  if (void* const p = attempt(); p != nullptr) [[likely]]
    return p;
  return try_again(size, attempt);
}

void insist(const std::function<bool()>& attempt) {
  const Nanos end = monotonic_now() + kPatience;
  while (!attempt()) relieve(0, end);
}

void* library_malloc(size_t size, void*) { return allocate(size); }
void library_free(void* memory, void*) { std::free(memory); }
void* library_calloc(size_t count, size_t size, void*) { return allocate_zeroed(count, size); }
void* library_realloc(void* old, size_t size, void*) { return reallocate(old, size); }

}  // namespace pqedge::memory
