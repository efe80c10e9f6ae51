// Messages with descriptors between two processes: a Unix socket of kind SOCK_SEQPACKET and
// SCM_RIGHTS (unix(7)).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"
#include "net/socket.h"

namespace pqedge::net {

inline constexpr size_t kMaxMessageBytes = 32 * 1024;
inline constexpr size_t kMaxMessageDescriptors = 200;  // the kernel's SCM_MAX_FD is 253

struct SocketPair {
  Fd ours;
  Fd theirs;
};
// Connected, non-blocking, closed on exec: the caller passes `theirs` on.
Result<SocketPair> make_message_pair();

// Waits for at most `timeout` until the peer's queue takes it.
Result<void> send_message(int fd, Bytes bytes, std::span<const int> descriptors, Nanos timeout);

struct Message {
  std::vector<uint8_t> bytes;  // empty: the peer has closed its end
  std::vector<Fd> descriptors;
};
Result<Message> receive_message(int fd, Nanos timeout);

}  // namespace pqedge::net
