#include "fastcrypto/memory.h"

#include <openssl/core_dispatch.h>

#include <cstring>

#include "fastcrypto/primitives.h"

namespace pqedge::fast {
namespace {

// One libcrypto is in a process; each of its contexts that loads the module offers the same.
OSSL_FUNC_CRYPTO_malloc_fn* core_malloc = nullptr;
OSSL_FUNC_CRYPTO_realloc_fn* core_realloc = nullptr;
OSSL_FUNC_CRYPTO_free_fn* core_free = nullptr;

}  // namespace

bool take_memory_of(const OSSL_DISPATCH* core) {
  if (core_malloc != nullptr) return true;
  OSSL_FUNC_CRYPTO_malloc_fn* offered = nullptr;
  for (; core != nullptr && core->function_id != 0; ++core) {
    switch (core->function_id) {
      case OSSL_FUNC_CRYPTO_MALLOC: offered = OSSL_FUNC_CRYPTO_malloc(core); break;
      case OSSL_FUNC_CRYPTO_REALLOC: core_realloc = OSSL_FUNC_CRYPTO_realloc(core); break;
      case OSSL_FUNC_CRYPTO_FREE: core_free = OSSL_FUNC_CRYPTO_free(core); break;
      default: break;
    }
  }
  if (offered == nullptr || core_realloc == nullptr || core_free == nullptr ||
      !primitives_allocate_by(offered, core_realloc, core_free)) {
    return false;
  }
  core_malloc = offered;
  return true;
}

void* allocate(size_t size) { return core_malloc(size, nullptr, 0); }
void release(void* memory) { core_free(memory, nullptr, 0); }

}  // namespace pqedge::fast

// AWS-LC asks the C library itself for a thread's first few words, and ends the process where there
// are none. The module is linked with --wrap, so that these are what it asks (ld(1)). Before the
// core's memory is known there is none.
extern "C" {

void* __wrap_malloc(size_t size) {
  return pqedge::fast::core_malloc == nullptr ? nullptr : pqedge::fast::allocate(size);
}

void* __wrap_calloc(size_t count, size_t size) {
  size_t whole = 0;
  if (__builtin_mul_overflow(count, size, &whole)) return nullptr;
  void* const memory = __wrap_malloc(whole);
  return memory == nullptr ? nullptr : std::memset(memory, 0, whole);
}

void* __wrap_realloc(void* memory, size_t size) {
  return pqedge::fast::core_realloc == nullptr
             ? nullptr
             : pqedge::fast::core_realloc(memory, size, nullptr, 0);
}

void __wrap_free(void* memory) {
  if (memory != nullptr) pqedge::fast::release(memory);
}

}  // extern "C"
