#include "wire/http2/frame_scanner.h"

#include <algorithm>
#include <cstring>

namespace pqedge::http2 {

FrameScanner::Result FrameScanner::scan(Bytes bytes, Nanos now) {
  size_t at = 0;
  while (at < bytes.size()) {
    if (preface_left_ > 0) {  // nghttp2 compares it
      const size_t n = std::min(preface_left_, bytes.size() - at);
      preface_left_ -= n;
      at += n;
      if (preface_left_ == 0) head_began_ = kNever;
      continue;
    }
    if (payload_left_ > 0) {
      const Bytes part = bytes.subspan(at, std::min(payload_left_, bytes.size() - at));
      if (!check_.pass(part)) {
        error_ = ErrorCode::protocol_error;
        return {at, Stop::bad_frame, {}, frame_.stream_id, false, frame_.type, error_};
      }
      const size_t n = watch_strings_ ? pass_payload(part) : part.size();
      payload_left_ -= n;
      at += n;
      if (n < part.size()) {
        return {at, Stop::long_string, {}, frame_.stream_id, strings_.at_path()};
      }
      if (payload_left_ == 0) end_frame();
      continue;
    }
    const size_t had = header_have_;
    const size_t n = std::min(kFrameHeaderSize - had, bytes.size() - at);
    std::memcpy(header_ + had, bytes.data() + at, n);
    header_have_ += n;
    if (header_have_ < kFrameHeaderSize) return {bytes.size()};

    const FrameHeader frame = FrameHeader::parse(header_);
    const auto bad = check_.begin(frame);
    error_ = bad.value_or(ErrorCode::no_error);
    const Stop stop = bad ? Stop::bad_frame : judge(frame, now);
    if (stop != Stop::none) {
      // Without the bytes just read nghttp2 has no whole header, and does not act on this frame.
      header_have_ = had;
      return {at, stop, charged_, frame.stream_id, false, frame.type, error_};
    }
    header_have_ = 0;
    at += n;
    begin_frame(frame);
  }
  return {at};
}

void FrameScanner::begin_frame(const FrameHeader& frame) {
  frame_ = frame;
  payload_left_ = frame.length;
  if (frame.type == FrameType::headers) {
    // Padding and the old priority fields (RFC 9113 6.2) are not part of the block. A block that
    // is both padded and continued is not looked at.
    const bool continued = (frame.flags & flag::kEndHeaders) == 0;
    watch_strings_ = continued && (frame.flags & flag::kPadded) == 0;
    skip_ = (frame.flags & flag::kPriority) != 0 ? 5 : 0;
    strings_.begin();
  } else if (frame.type != FrameType::continuation) {
    watch_strings_ = false;
  }
  if (payload_left_ == 0) end_frame();
}

// How much of a part of a field block nghttp2 may have.
size_t FrameScanner::pass_payload(Bytes part) {
  const size_t skipped = std::min(skip_, part.size());
  skip_ -= skipped;
  return skipped + strings_.pass(part.subspan(skipped));
}

void FrameScanner::end_frame() {
  const bool block = frame_.type == FrameType::headers || frame_.type == FrameType::continuation;
  if (block && (frame_.flags & flag::kEndHeaders) != 0) head_began_ = kNever;
}

FrameScanner::Stop FrameScanner::judge(const FrameHeader& frame, Nanos now) {
  bool within = true;
  switch (frame.type) {
    case FrameType::data: return judge_data(frame, now);
    case FrameType::headers:
    case FrameType::continuation: return judge_block(frame, now);
    case FrameType::priority:
    case FrameType::priority_update: within = spend(Charge::priority, now); break;
    case FrameType::rst_stream:
      if (frame.stream_id == data_stream_) data_stream_ = 0;
      within = spend(Charge::reset, now);
      break;
    case FrameType::settings:
      if (settings_seen_ && (frame.flags & flag::kAck) == 0) {
        within = spend(Charge::settings, now);
      } else if (settings_seen_) {
        within = spend(Charge::unknown, now);
      }
      settings_seen_ = true;
      break;
    case FrameType::ping: within = spend(Charge::ping, now); break;
    case FrameType::window_update: within = spend(Charge::window_update, now); break;
    case FrameType::push_promise:  // a connection error to nghttp2 (RFC 9113 8.4)
      break;
    case FrameType::goaway:
    default: within = spend(Charge::unknown, now); break;
  }
  return within ? Stop::none : Stop::flood;
}

FrameScanner::Stop FrameScanner::judge_block(const FrameHeader& frame, Nanos now) {
  if (frame.type == FrameType::headers) {
    // Stream 0 and even identifiers are connection errors to nghttp2 (RFC 9113 5.1.1, 6.2).
    const bool odd = (frame.stream_id & 1) != 0;
    if (odd && frame.stream_id <= highest_stream_ && frame.stream_id != permitted_) {
      return Stop::old_stream;
    }
    permitted_ = 0;
    highest_stream_ = std::max(highest_stream_, odd ? frame.stream_id : 0);
    data_stream_ = (frame.flags & flag::kEndStream) == 0 ? frame.stream_id : 0;
    if (!spend(Charge::headers, now)) return Stop::flood;
    block_size_ = 0;
    head_began_ = now;
  } else if (!spend(Charge::continuation, now)) {
    return Stop::flood;
  }
  block_size_ += frame.length;
  return block_size_ > max_block_ ? Stop::long_block : Stop::none;
}

// RFC 9113 5.1: who ended a stream sends nothing more on it. Asked once where an upload begins or
// goes on after another's frames, not for each frame.
FrameScanner::Stop FrameScanner::judge_data(const FrameHeader& frame, Nanos now) {
  if (frame.stream_id != data_stream_) {
    const bool odd = (frame.stream_id & 1) != 0;
    if (odd && frame.stream_id <= highest_stream_ && frame.stream_id != permitted_) {
      return Stop::old_stream;
    }
    permitted_ = 0;
    data_stream_ = frame.stream_id;
  }
  if ((frame.flags & flag::kEndStream) != 0) {
    data_stream_ = 0;
    return Stop::none;
  }
  // Padding alone is seen by the connection: its length is inside the payload.
  if (frame.length >= kTinyData) return Stop::none;
  const Charge charge = frame.length == 0 ? Charge::empty_data : Charge::tiny_data;
  return spend(charge, now) ? Stop::none : Stop::flood;
}

}  // namespace pqedge::http2
