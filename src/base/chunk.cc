#include "base/chunk.h"

#include <cstdlib>
#include <new>

#include "base/memory.h"

namespace pqedge {
namespace {

constexpr size_t kMaxFree = 64;  // 2 MiB kept a thread

}  // namespace

struct Chunk::FreeList {
  Chunk* head = nullptr;
  size_t count = 0;
  size_t live = 0;
  bool closed = false;  // the thread is ending: what comes back is freed at once

  ~FreeList() {
    closed = true;
    while (head != nullptr) std::free(std::exchange(head, head->next_free_));
  }
};

Chunk::FreeList& Chunk::free_list() {
  thread_local FreeList list;
  return list;
}

Chunk* Chunk::make() {
  FreeList& list = free_list();
  ++list.live;
  if (Chunk* c = list.head; c != nullptr) {
    list.head = c->next_free_;
    --list.count;
    c->refs_ = 1;
    return c;
  }
  return new (memory::allocate(sizeof(Chunk))) Chunk;
}

void Chunk::recycle(Chunk* chunk) {
  FreeList& list = free_list();
  --list.live;
  if (list.count < kMaxFree && !list.closed) {
    chunk->next_free_ = list.head;
    list.head = chunk;
    ++list.count;
    return;
  }
  std::free(chunk);
}

size_t Chunk::live() { return free_list().live; }

}  // namespace pqedge
