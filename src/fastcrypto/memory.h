// Memory of the module: from the core that has loaded it (OSSL_FUNC_CRYPTO_MALLOC,
// provider-base(7)), so that whoever has given OpenSSL an allocator of his own
// (CRYPTO_set_mem_functions) is asked here too. Without it one malloc() that fails would end a
// handshake.
#pragma once

#include <openssl/core.h>

#include <cstddef>
#include <new>

namespace pqedge::fast {

// From OSSL_provider_init(), before anything else. False: the core offers no memory.
bool take_memory_of(const OSSL_DISPATCH* core);

void* allocate(size_t size);  // null: there is none
void release(void* memory);

// What the core holds by a pointer: new (std::nothrow) and delete go to the core.
struct FromCore {
  static void* operator new(size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
  static void operator delete(void* memory, const std::nothrow_t&) noexcept { release(memory); }
  static void operator delete(void* memory) noexcept { release(memory); }
};

}  // namespace pqedge::fast
