// UDP in batches: many datagrams a system call, both ways (recvmmsg with GRO, sendmmsg with GSO).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "net/address.h"
#include "net/loop.h"
#include "net/socket.h"

namespace pqedge::net {

// Receives for one socket. The buffers are one set a thread, shared by its receivers.
//
// Register the socket level-triggered (Loop::add(fd, source, true)): what is left when a budget is
// spent is told again in the next turn, and an edge-triggered UDP socket would also wake the loop
// with "writable" for each datagram that leaves.
class UdpReceiver {
 public:
  static constexpr size_t kBatch = 32;  // messages a system call; with GRO up to 64 datagrams each

  // `bound` is the address that the socket is bound to (its port is that of every local address).
  UdpReceiver(int fd, const Address& bound) : fd_(fd), bound_(bound) {}

  // One system call. Calls take(Bytes, const Address& peer, const Address& local, uint8_t ecn) for
  // each datagram; the arguments are valid during that call, which must not destroy the receiver.
  // True when more may be waiting.
  template <typename Take>
  bool receive(Take&& take) {
    const std::span<const Message> messages = fetch();
    for (const Message& m : messages) {
      for (Bytes rest = m.bytes; !rest.empty();) {
        const size_t n = rest.size() < m.segment ? rest.size() : m.segment;
        take(rest.first(n), m.peer, m.local, m.ecn);
        rest = rest.subspan(n);
      }
    }
    return full_;
  }

 private:
  // What the kernel gave at once: datagrams of `segment` bytes, the last perhaps shorter.
  struct Message {
    Bytes bytes;
    size_t segment;
    Address peer;
    Address local;
    uint8_t ecn;
  };
  struct Buffers;
  static Buffers& buffers();
  std::span<const Message> fetch();
  void read_control(const msghdr& header, Message& message);

  int fd_;
  Address bound_;
  uint32_t drops_ = 0;  // the kernel's running count of this socket
  bool full_ = false;
};

// Sends for one socket. Datagrams are written into its buffer and leave at the end of the turn.
// Neighbours of one size for one destination are joined into one GSO message.
//
// When the kernel takes no more, for full buffers or (for a while) for want of memory, the rest
// stays queued and is tried again after a millisecond; meanwhile room() gives nothing, and on_room
// is called when there is some again.
class UdpSender {
 public:
  using OnRoom = void (*)(void* context);
  static constexpr size_t kBurst = 64 * 1024;  // the most that room() gives
  static constexpr size_t kSegmentsMax = 64;   // UDP_MAX_SEGMENTS of older kernels

  // `socket` outlives the sender. `gso`: the setting; it is used if the socket can.
  UdpSender(Loop& loop, const UdpSocket& socket, const Address& bound, bool gso, OnRoom on_room,
            void* context);
  UdpSender(const UdpSender&) = delete;
  UdpSender& operator=(const UdpSender&) = delete;

  // Room for one burst of at most `size` <= kBurst bytes, or nothing (blocked()). The next call of
  // room() or flush() takes it back unless it was committed.
  MutableBytes room(size_t size);
  // The first `size` bytes of the room are datagrams of `segment` bytes each, the last perhaps
  // shorter. `local` is the source address (its IP is left to the kernel when it is any). `ecn` are
  // the two bits of the IP header.
  void commit(size_t size, size_t segment, const Address& peer, const Address& local, uint8_t ecn);

  // Whether several datagrams may go as one GSO message to that peer: false once it failed there.
  // Then they go singly, by one system call all the same.
  bool gso_to(const Address& peer) const;

  // Sends now what is queued.
  void flush();
  bool blocked() const { return blocked_; }
  size_t queued() const { return bytes_ - sent_; }

 private:
  static constexpr size_t kCapacity = 512 * 1024;
  static constexpr size_t kBatch = 64;  // messages a system call
  static constexpr size_t kFailedPaths = 64;

  struct Entry {
    const uint8_t* data;
    size_t size;
    size_t segment;
    Address peer;
    Address local;
    uint8_t ecn;
  };
  struct Wire;  // a sendmmsg call being put together

  bool joins(const Entry& last, size_t size, size_t segment, const Address& peer,
             const Address& local, uint8_t ecn) const;
  size_t fill(Wire& wire) const;
  void advance(size_t bytes);
  void drop_front(size_t bytes, int code);
  void remember_failed(const Address& peer);
  void wait_for_room();
  void retry();

  Loop& loop_;
  int fd_;
  bool any_address_;  // bound to the wildcard: the source address must be said
  bool gso_;
  OnRoom on_room_;
  void* context_;
  std::unique_ptr<uint8_t[]> buffer_;
  size_t bytes_ = 0;  // written into the buffer and committed
  size_t sent_ = 0;   // and done with
  std::vector<Entry> queue_;
  size_t head_ = 0;       // entries before it are done
  uint32_t starved_ = 0;  // times in a row that the kernel had no memory
  bool blocked_ = false;
  bool room_wanted_ = false;
  // Networks' first hops that refused GSO, by peer IP; a later failure may take an entry's place.
  std::array<std::array<uint8_t, 16>, kFailedPaths> failed_{};
  size_t failed_count_ = 0;
  Deferred flush_;
  Timer retry_;
};

}  // namespace pqedge::net
