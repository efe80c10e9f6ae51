#include "base/give_back.h"

#include <malloc.h>

// mimalloc's, where it is loaded. A sanitizer's build has another allocator.
extern "C" [[gnu::weak]] void mi_collect(bool force) noexcept;

namespace pqedge {

void give_back_memory() {
  if (mi_collect != nullptr) {
    mi_collect(true);
  } else {
    malloc_trim(0);
  }
}

}  // namespace pqedge
