#include "programs/pqedge/allocation.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "base/log.h"
#include "base/memory.h"

// Sanitizers bring their own, and look whether what was made by new ends by delete.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PQEDGE_OWN_NEW 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PQEDGE_OWN_NEW 0
#endif
#endif
#ifndef PQEDGE_OWN_NEW
#define PQEDGE_OWN_NEW 1
#endif

#if PQEDGE_OWN_NEW
namespace {

// Thrown only for what is no size at all: nothing in the program asks for that much.
void* must(void* memory) {
  if (memory == nullptr) [[unlikely]]
    throw std::bad_alloc();
  return memory;
}

void* plain(std::size_t size) {
  if (void* const p = std::malloc(size); p != nullptr) [[likely]]
    return p;
  return must(pqedge::memory::allocate(std::max<std::size_t>(size, 1)));
}

void* aligned(std::size_t size, std::align_val_t alignment) {
  const auto at = std::max(static_cast<std::size_t>(alignment), sizeof(void*));
  return must(pqedge::memory::allocate_aligned(at, std::max<std::size_t>(size, 1)));
}

}  // namespace

void* operator new(std::size_t size) { return plain(size); }
void* operator new[](std::size_t size) { return plain(size); }
void* operator new(std::size_t size, std::align_val_t at) { return aligned(size, at); }
void* operator new[](std::size_t size, std::align_val_t at) { return aligned(size, at); }

void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
#endif

namespace pqedge {
namespace {

void* openssl_malloc(size_t size, const char*, int) {
  return size == 0 ? nullptr : memory::allocate(size);
}
void* openssl_realloc(void* old, size_t size, const char*, int) {
  return memory::reallocate(old, size);
}
void openssl_free(void* p, const char*, int) { std::free(p); }

}  // namespace

void start_allocation() {
  memory::make_reserve();
  if (CRYPTO_set_mem_functions(openssl_malloc, openssl_realloc, openssl_free) != 1) {
    log::warning("memory", "OpenSSL allocates by itself: out of memory, its connections end");
  }
}

}  // namespace pqedge
