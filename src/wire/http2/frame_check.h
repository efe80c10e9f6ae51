// What nghttp2 leaves unread where RFC 7540's priorities are not in use, errors and all (RFC
// 9113 6.3, RFC 9218 7.1), and a CONTINUATION larger than we allow.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "wire/http2/frame.h"

namespace pqedge::http2 {

class FrameCheck {
 public:
  static constexpr uint32_t kPrioritySize = 5;     // of the payload
  static constexpr uint32_t kMaxPayload = 16'384;  // SETTINGS_MAX_FRAME_SIZE, never set by us

  // At the header of every frame. What the connection ends with, if anything.
  std::optional<ErrorCode> begin(const FrameHeader& frame) {
    left_ = 0;
    forbidden_ = frame.stream_id;
    switch (frame.type) {
      case FrameType::priority:
        if (frame.stream_id == 0) return ErrorCode::protocol_error;
        if (frame.length != kPrioritySize) return ErrorCode::frame_size_error;
        left_ = kIdSize;
        break;
      case FrameType::headers:
        if ((frame.flags & flag::kPriority) == 0) break;
        left_ = kIdSize + ((frame.flags & flag::kPadded) != 0 ? 1 : 0);
        break;
      case FrameType::priority_update:  // RFC 9218 7.1: of stream 0
        left_ = kIdSize;
        forbidden_ = 0;
        break;
      case FrameType::continuation:
        if (frame.length > kMaxPayload) return ErrorCode::frame_size_error;  // RFC 9113 4.2
        break;
      default: break;
    }
    return std::nullopt;
  }

  // With the next part of its payload. False: a priority that there cannot be, a protocol error.
  // That a stream depends on itself is one by RFC 7540 5.3.1; 9113 has the fields, but not their
  // meaning.
  bool pass(Bytes part) {
    if (left_ == 0) return true;
    for (const uint8_t byte : part) {
      --left_;
      if (left_ < kIdSize) id_ = id_ << 8 | byte;
      if (left_ == 0) return (id_ & 0x7fff'ffff) != forbidden_;
    }
    return true;
  }

 private:
  static constexpr uint32_t kIdSize = 4;  // of a stream, behind the length of the padding

  uint32_t left_ = 0;  // bytes that are still to be looked at
  uint32_t id_ = 0;
  uint32_t forbidden_ = 0;
};

}  // namespace pqedge::http2
