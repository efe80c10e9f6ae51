// Which stream fills the next packet (RFC 9218 section 10).
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/intrusive_list.h"
#include "wire/quic/stream.h"

namespace pqedge::quic {

// Holds the streams that have something to send. Lower levels go first. Within one, the streams
// that are not incremental go one after another in the order of their IDs, and the incremental ones
// take turns, a packet each; where both kinds wait, they alternate.
class SendScheduler {
 public:
  bool empty() const { return levels_in_use_ == 0; }

  void add(Stream& s) {
    if (node(s).linked()) return;
    const uint8_t n = s.precedence_.level;
    Level& level = levels_[n];
    if (s.precedence_.incremental) {
      level.incremental.push_back(s);
    } else {
      insert_by_id(level.sequential, s);
    }
    levels_in_use_ |= 1u << n;
  }

  void remove(Stream& s) {
    if (!node(s).linked()) return;
    node(s).unlink();
    const uint8_t n = s.precedence_.level;
    if (levels_[n].sequential.empty() && levels_[n].incremental.empty()) {
      levels_in_use_ &= ~(1u << n);
    }
  }

  // Takes effect at once, also while it waits.
  void set_precedence(Stream& s, Precedence p) {
    const bool waits = node(s).linked();
    remove(s);
    s.precedence_ = p;
    if (waits) add(s);
  }

  // The stream to write from, or null.
  Stream* next() {
    if (levels_in_use_ == 0) return nullptr;
    Level& level = levels_[std::countr_zero(levels_in_use_)];
    if (level.sequential.empty()) return &level.incremental.front();
    if (level.incremental.empty()) return &level.sequential.front();
    return level.incremental_turn ? &level.incremental.front() : &level.sequential.front();
  }

  // `s` filled a packet and has more.
  void took_turn(Stream& s) {
    Level& level = levels_[s.precedence_.level];
    level.incremental_turn = !s.precedence_.incremental;
    if (s.precedence_.incremental) level.incremental.push_back(s);
  }

 private:
  using List = IntrusiveList<Stream, SendTag>;
  struct Level {
    List sequential;
    List incremental;
    bool incremental_turn = false;
  };

  static ListNode<SendTag>& node(Stream& s) { return s; }

  // From the back: new streams have the highest IDs.
  static void insert_by_id(List& list, Stream& s) {
    if (list.empty() || list.back().id_ < s.id_) {
      list.push_back(s);
      return;
    }
    List after;
    while (!list.empty() && list.back().id_ > s.id_) {
      Stream& last = list.back();
      node(last).unlink();
      after.push_front(last);
    }
    list.push_back(s);
    list.splice_back(after);
  }

  std::array<Level, Precedence::kLevels> levels_;
  uint32_t levels_in_use_ = 0;
};

}  // namespace pqedge::quic
