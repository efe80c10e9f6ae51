// Goes over a server's frames before nghttp2, for what that leaves unread (frame_check.h).
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>

#include "wire/http2/frame_check.h"

namespace pqedge::http2 {

class FrameWatch {
 public:
  // `bytes` go on where those before ended. How many of them nghttp2 may have: fewer than given
  // where error() is set.
  size_t pass(Bytes bytes) {
    size_t at = 0;
    while (at < bytes.size() && !error_) {
      const size_t wanted = payload_left_ > 0 ? payload_left_ : kFrameHeaderSize - have_;
      const Bytes part = bytes.subspan(at, std::min(wanted, bytes.size() - at));
      if (payload_left_ > 0) {
        payload_left_ -= part.size();
        if (!check_.pass(part)) error_ = ErrorCode::protocol_error;
      } else {
        take_header(part);
      }
      if (!error_) at += part.size();
    }
    return at;
  }
  // What the connection ends with.
  std::optional<ErrorCode> error() const { return error_; }

 private:
  void take_header(Bytes part) {
    std::memcpy(header_ + have_, part.data(), part.size());
    have_ += part.size();
    if (have_ < kFrameHeaderSize) return;
    have_ = 0;
    const FrameHeader frame = FrameHeader::parse(header_);
    payload_left_ = frame.length;
    error_ = check_.begin(frame);
    // RFC 9218 7.1: it is for clients to send.
    if (frame.type == FrameType::priority_update) error_ = ErrorCode::protocol_error;
  }

  size_t payload_left_ = 0;
  size_t have_ = 0;  // bytes of header_
  uint8_t header_[kFrameHeaderSize] = {};
  FrameCheck check_;
  std::optional<ErrorCode> error_;
};

}  // namespace pqedge::http2
