// QUIC hellos that came in part: their datagrams are kept until it is known who answers them.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/intrusive_list.h"
#include "base/time.h"
#include "edge/udp_flow_key.h"
#include "wire/quic/initial_reader.h"
#include "wire/quic/keys.h"

namespace pqedge::edge {

// A datagram that was kept.
struct KeptDatagram {
  explicit KeptDatagram(const quic::ReceivedDatagram& d)
      : bytes(as_text(d.bytes)), peer(d.peer), local(d.local), ecn(d.ecn) {}
  quic::ReceivedDatagram view() const { return {as_bytes(bytes), peer, local, ecn}; }
  std::string bytes;
  net::Address peer;
  net::Address local;
  uint8_t ecn;
};

struct PendingHello : ListNode<PendingHello> {
  std::unique_ptr<quic::InitialReader> reader;  // null: no Initial came yet
  std::vector<KeptDatagram> initials;           // in the order they came
  std::vector<KeptDatagram> others;             // 0-RTT that came before them
  size_t bytes = 0;
  Nanos deadline = 0;

 private:
  friend class PendingHellos;
  std::string key_;
};

// Bounded in number, bytes and time. When there is no room the oldest goes: the datagrams of a real
// hello come together.
class PendingHellos {
 public:
  static constexpr size_t kMaxHellos = 2048;
  static constexpr size_t kMaxDatagrams = 32;  // of one hello: 16 KiB take 15
  static constexpr size_t kMaxBytes = 4 * 1024 * 1024;

  explicit PendingHellos(Nanos lifetime) : lifetime_(lifetime) {}
  ~PendingHellos() { clear(); }
  void set_lifetime(Nanos lifetime) { lifetime_ = lifetime; }

  PendingHello* find(const PathKey& path, Bytes id);
  PendingHello& make(const PathKey& path, Bytes id, Nanos now);
  // False, and nothing is kept, when the hello has as many as it may.
  bool keep(PendingHello& hello, const quic::ReceivedDatagram& datagram, bool initial);
  // Takes it out.
  std::unique_ptr<PendingHello> take(PendingHello& hello);
  // Drops those whose time is over; returns how many.
  size_t expire(Nanos now);
  Nanos next_deadline();  // kNever: there is none
  void clear();
  size_t size() const { return by_key_.size(); }
  size_t bytes() const { return bytes_; }
  uint64_t evicted() const { return evicted_; }

 private:
  struct Hash {
    size_t operator()(const std::string& s) const { return keyed(as_bytes(s)); }
    KeyedHash keyed;
  };
  void drop_oldest();

  Nanos lifetime_;
  std::unordered_map<std::string, std::unique_ptr<PendingHello>, Hash> by_key_;
  IntrusiveList<PendingHello> oldest_first_;
  size_t bytes_ = 0;
  uint64_t evicted_ = 0;
};

}  // namespace pqedge::edge
