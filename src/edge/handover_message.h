// The messages of a hand-over (handover.h): numbers big-endian, texts with their length.
#pragma once

#include <openssl/crypto.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "edge/handover.h"
#include "net/fd_message.h"

namespace pqedge::edge::handover {

inline constexpr uint8_t kMustKnow = 0x80;
enum Kind : uint8_t {
  kBegin = 1 | kMustKnow,
  kQuicSecret = 2,
  kTicketKey = 3,
  kSocket = 4 | kMustKnow,
  kInherited = 5 | kMustKnow,
  kLinks = 6,
  kEnd = 7 | kMustKnow,
  kReady = 8 | kMustKnow,
  kVerdict = 9 | kMustKnow,
  kFailure = 10 | kMustKnow,
  kWorkersAsked = 11,
  // What is known at run time: a program that does not know these begins without.
  kPool = 12,
  kAddedServer = 13,
  kChangedServer = 14,
  kStanding = 15,
  kCanary = 16,
  kTies = 17,
};

class Writer {
 public:
  explicit Writer(Kind kind) { bytes_.push_back(kind); }
  ~Writer() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void number(uint64_t value, size_t size) {
    for (size_t i = size; i-- > 0;) bytes_.push_back(static_cast<uint8_t>(value >> (8 * i)));
  }
  void raw(Bytes bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  void text(std::string_view text) {
    number(text.size(), 2);
    raw(as_bytes(text));
  }
  Result<void> send(int channel, std::span<const int> descriptors = {}) const {
    return net::send_message(channel, bytes_, descriptors, kHandoverTimeout);
  }

 private:
  std::vector<uint8_t> bytes_;
};

// Reads past the end give zeros and make ok() false.
class Reader {
 public:
  explicit Reader(Bytes bytes) : rest_(bytes) {}
  uint64_t number(size_t size) {
    uint64_t value = 0;
    for (const uint8_t b : take(size)) value = value << 8 | b;
    return value;
  }
  void raw(MutableBytes out) {
    const Bytes from = take(out.size());
    std::ranges::copy(from, out.begin());
  }
  std::string text() { return std::string(as_text(take(number(2)))); }
  bool ok() const { return ok_; }

 private:
  Bytes take(size_t size) {
    if (size > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const Bytes taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }
  Bytes rest_;
  bool ok_ = true;
};

// handover_state.cc. Those of servers are of the pool that came before them.
Result<void> send_state(int channel, const RunTimeState& state);
void take_pool(Reader& r, RunTimeState& state);
Result<void> take_added(Reader& r, RunTimeState& state);
Result<void> take_changed(Reader& r, RunTimeState& state);
Result<void> take_standing(Reader& r, RunTimeState& state);
void take_canary(Reader& r, RunTimeState& state);
Result<void> take_ties(Reader& r, RunTimeState& state);

}  // namespace pqedge::edge::handover
