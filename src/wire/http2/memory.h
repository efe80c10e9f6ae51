// nghttp2 allocates by the rules of base/memory.h: it never sees a failure.
#pragma once

#include <nghttp2/nghttp2.h>

#include "base/memory.h"

namespace pqedge::http2 {

// A session copies it.
inline nghttp2_mem library_memory() {
  return {nullptr, memory::library_malloc, memory::library_free, memory::library_calloc,
          memory::library_realloc};
}

}  // namespace pqedge::http2
