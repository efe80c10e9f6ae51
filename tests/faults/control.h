// The rules of the fault injector: which call fails, how often, and with what.
// docs/internals/faults.md has their grammar.
//
// Nothing here allocates: it is asked from inside malloc().
#pragma once

#include <sys/socket.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace faults {

enum class Call : uint8_t {
  malloc,
  mmap,
  socket,
  accept,
  connect,
  epoll_create,
  epoll_ctl,
  epoll_wait,
  eventfd,
  send,
  sendmmsg,
  recv,
  recvmmsg,
  read,
  write,
  sync,
  open,
  random,
  clock,
  count_,
};

// What a rule makes of one call.
struct Fault {
  int error = 0;       // errno; 0: none
  bool after = false;  // the call is made, and then said to have failed
  size_t most = 0;     // bytes (messages of sendmmsg) that it may take; 0: all
  explicit operator bool() const { return error != 0 || most != 0; }
};

// The one rule that applies to this call, if any: the first whose turn it is. `fd` is -1 where
// there is none; `message` is what is sent, where that is known.
Fault ask(Call call, int fd = -1, const msghdr* message = nullptr);

bool has_rules(Call call);

// Seconds by which the wall clock is put forward (or back).
int64_t clock_offset();

// Whether a message asks for segmentation (UDP_SEGMENT).
bool asks_for_gso(const msghdr& message);

// What the file of PQEDGE_FAULTS_CONTROL holds, mapped by everyone who has a part in it. The writer
// changes `text` and `size`, and then `version`.
struct Shared {
  static constexpr size_t kRules = 32;
  static constexpr size_t kText = 8192;
  struct Count {
    std::atomic<uint64_t> seen;    // calls that the rule is about
    std::atomic<uint64_t> failed;  // of them
  };
  std::atomic<uint32_t> version;
  std::atomic<uint32_t> size;
  Count counts[kRules];
  char text[kText];
};
static_assert(sizeof(Shared) == 8 + 16 * Shared::kRules + Shared::kText);

}  // namespace faults
