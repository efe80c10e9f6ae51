// ngtcp2 allocates by the rules of base/memory.h: it never sees a failure.
#pragma once

#include <ngtcp2/ngtcp2.h>

#include "base/memory.h"

namespace pqedge::quic {

// Connections keep the pointer.
inline const ngtcp2_mem* library_memory() {
  static constexpr ngtcp2_mem kMemory = {nullptr, memory::library_malloc, memory::library_free,
                                         memory::library_calloc, memory::library_realloc};
  return &kMemory;
}

}  // namespace pqedge::quic
