// malloc() and its like. They are passed on to whoever would have served them without us.
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "faults/control.h"

namespace faults {
namespace {

struct Range {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  bool holds(const void* p) const {
    const auto at = reinterpret_cast<uintptr_t>(p);
    return at >= begin && at < end;
  }
};

struct Next {
  void* (*malloc)(size_t);
  void* (*calloc)(size_t, size_t);
  void* (*realloc)(void*, size_t);
  int (*posix_memalign)(void**, size_t, size_t);
  void* (*aligned_alloc)(size_t, size_t);
  void (*free)(void*);
};

Next next_in_line;
bool found = false;
bool finding = false;
Range libc;
Range linker;

// What dlsym() itself asks for while it looks: never given back.
alignas(16) uint8_t early[16384];
size_t early_used = 0;

void* from_early(size_t size) {
  size = (size + 15) / 16 * 16;
  if (early_used + size > sizeof early) ::_exit(70);
  void* const p = early + early_used;
  early_used += size;
  return p;
}

bool is_early(const void* p) { return p >= early && p < early + sizeof early; }

int note_range(dl_phdr_info* info, size_t, void*) {
  const bool c = std::strstr(info->dlpi_name, "/libc.so") != nullptr;
  const bool l = std::strstr(info->dlpi_name, "/ld-linux") != nullptr;
  if (!c && !l) return 0;
  Range& range = c ? libc : linker;
  range.begin = UINTPTR_MAX;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD) continue;
    const uintptr_t at = info->dlpi_addr + header.p_vaddr;
    if (at < range.begin) range.begin = at;
    if (at + header.p_memsz > range.end) range.end = at + header.p_memsz;
  }
  return 0;
}

template <typename Function>
void look_up(Function& place, const char* name) {
  place = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

// Before main() there is one thread.
void find() {
  finding = true;
  look_up(next_in_line.malloc, "malloc");
  look_up(next_in_line.calloc, "calloc");
  look_up(next_in_line.realloc, "realloc");
  look_up(next_in_line.posix_memalign, "posix_memalign");
  look_up(next_in_line.aligned_alloc, "aligned_alloc");
  look_up(next_in_line.free, "free");
  ::dl_iterate_phdr(note_range, nullptr);
  found = true;
  finding = false;
}

// The C library's own allocations are left alone: where it cannot have thread-local storage it ends
// the process by itself.
bool fails(const void* caller) {
  if (libc.holds(caller) || linker.holds(caller)) return false;
  if (!ask(Call::malloc)) return false;
  errno = ENOMEM;
  return true;
}

bool is_early_time() {
  if (found) [[likely]]
    return false;
  if (finding) return true;
  find();
  return false;
}

}  // namespace
}  // namespace faults

using namespace faults;

extern "C" {

void* malloc(size_t size) noexcept {
  if (is_early_time()) return from_early(size);
  return fails(__builtin_return_address(0)) ? nullptr : next_in_line.malloc(size);
}

void* calloc(size_t count, size_t size) noexcept {
  if (is_early_time()) return from_early(count * size);
  return fails(__builtin_return_address(0)) ? nullptr : next_in_line.calloc(count, size);
}

void* realloc(void* old, size_t size) noexcept {
  if (is_early_time()) ::_exit(70);
  if (is_early(old)) {
    void* const p = next_in_line.malloc(size);
    const size_t rest = static_cast<size_t>(early + sizeof early - static_cast<uint8_t*>(old));
    if (p != nullptr) std::memcpy(p, old, size < rest ? size : rest);
    return p;
  }
  return fails(__builtin_return_address(0)) ? nullptr : next_in_line.realloc(old, size);
}

int posix_memalign(void** place, size_t alignment, size_t size) noexcept {
  if (is_early_time()) ::_exit(70);
  if (fails(__builtin_return_address(0))) return ENOMEM;
  return next_in_line.posix_memalign(place, alignment, size);
}

void* aligned_alloc(size_t alignment, size_t size) noexcept {
  if (is_early_time()) ::_exit(70);
  if (fails(__builtin_return_address(0))) return nullptr;
  return next_in_line.aligned_alloc(alignment, size);
}

void free(void* p) noexcept {
  if (is_early(p) || is_early_time()) return;
  next_in_line.free(p);
}

void* mmap64(void* at, size_t size, int protection, int flags, int fd, off64_t offset) noexcept {
  if (const Fault f = ask(Call::mmap, fd)) {
    errno = f.error;
    return MAP_FAILED;
  }
  return reinterpret_cast<void*>(::syscall(SYS_mmap, at, size, protection, flags, fd, offset));
}

void* mmap(void* at, size_t size, int protection, int flags, int fd, off_t offset) noexcept {
  return mmap64(at, size, protection, flags, fd, offset);
}

}  // extern "C"
