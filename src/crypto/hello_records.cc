#include "crypto/hello_records.h"

#include <algorithm>
#include <cstring>

#include "crypto/handshake_messages.h"

namespace pqedge::crypto {
namespace {

constexpr size_t kRecordHeader = 5;
constexpr size_t kMaxHelloRecord = 1 << 14;
constexpr uint8_t kHandshake = 22;
constexpr uint8_t kMajorVersion = 3;
constexpr size_t kMessageHeader = 4;

}  // namespace

HelloRecords::State HelloRecords::take(Bytes all) {
  while (state_ == State::more && position_ < all.size()) {
    if (record_left_ == 0) {
      if (!take_record_header(all)) break;
      continue;
    }
    const size_t n = std::min(record_left_, all.size() - position_);
    // The usual hello has one record, and needs no copy: wait for all of it.
    if (gathered_.empty() && n < record_left_) break;
    const Bytes fragment = all.subspan(position_, n);
    position_ += n;
    record_left_ -= n;
    look_at(fragment);
  }
  if (state_ == State::more && all.size() >= kMaxBytes) state_ = State::too_long;
  return state_;
}

// False when it is not whole yet, or wrong.
bool HelloRecords::take_record_header(Bytes all) {
  const Bytes in = all.subspan(position_);
  if (position_ == 0 && in[0] != kHandshake) {
    state_ = State::not_tls;
    return false;
  }
  if (in.size() < kRecordHeader) return false;
  const size_t length = load_be16(in.data() + 3);
  if (in[0] != kHandshake || in[1] != kMajorVersion || length == 0 || length > kMaxHelloRecord) {
    state_ = State::broken;
    return false;
  }
  position_ += kRecordHeader;
  record_left_ = length;
  return true;
}

void HelloRecords::append(Bytes fragment) {
  const size_t before = gathered_.size();
  gathered_.resize(before + fragment.size());
  std::memcpy(gathered_.data() + before, fragment.data(), fragment.size());
}

void HelloRecords::look_at(Bytes fragment) {
  Bytes known = fragment;
  if (!gathered_.empty()) {
    append(fragment);
    known = gathered_;
  }
  if (known[0] != kClientHello) {
    state_ = State::broken;
    return;
  }
  const size_t size =
      known.size() < kMessageHeader ? SIZE_MAX : kMessageHeader + load_be24(known.data() + 1);
  if (size != SIZE_MAX && size > kMaxHello) {
    state_ = State::too_long;
  } else if (size <= known.size()) {
    message_ = known.first(size);
    state_ = State::whole;
  } else if (gathered_.empty()) {
    append(fragment);
  }
}

}  // namespace pqedge::crypto
