// What happens when memory runs out: nothing is ever half done.
//
// The process keeps a reserve of address space. An allocation that fails gives a piece of it back
// to the kernel and is tried again, so no caller and no library sees a failure in the midst of its
// work. From the moment that much of the reserve is gone (refusing()) the edges take nothing new:
// no connection is accepted and each request gets 503, while what runs goes on and frees what it
// held. When the reserve can be made whole again, all is as before. Where nothing comes back for
// some seconds although the reserve is used up, the process says so and ends: a supervisor starts
// it anew.
//
// It is for limits that an allocation meets (RLIMIT_AS, RLIMIT_DATA, vm.overcommit_memory = 2). A
// memory cgroup kills instead.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

namespace pqedge::memory {

inline constexpr size_t kReserve = size_t{32} << 20;  // bytes of address space; no page is touched

// Without it, as in tests and tools, allocations that fail are only tried again for a while.
void make_reserve();

// malloc(), calloc(), realloc() and aligned_alloc() that do not fail: nullptr only where `size` is
// 0 or no size at all (1 GiB and more). Freed by free(). From any thread.
void* allocate(size_t size);
void* allocate_zeroed(size_t count, size_t size);
void* reallocate(void* old, size_t size);
void* allocate_aligned(size_t alignment, size_t size);

// For libraries that allocate by themselves: `attempt` makes something (true: it worked), and has
// no other reason to fail.
void insist(const std::function<bool()>& attempt);

// The same in the form that nghttp2, ngtcp2 and nghttp3 take (their *_mem).
void* library_malloc(size_t size, void* user);
void library_free(void* memory, void* user);
void* library_calloc(size_t count, size_t size, void* user);
void* library_realloc(void* old, size_t size, void* user);

namespace detail {
extern std::atomic<bool> short_of_memory;
extern std::atomic<bool> refusing_work;
}  // namespace detail

// Whether an allocation has failed since the reserve was last whole.
inline bool is_short() { return detail::short_of_memory.load(std::memory_order_relaxed); }
// Whether nothing new is to be taken.
inline bool refusing() { return detail::refusing_work.load(std::memory_order_relaxed); }

// While is_short(), from the end of each turn of a loop: fills the reserve up, counts, and tells
// the log. Not from inside anything that holds a lock of the log.
void recover();

}  // namespace pqedge::memory
