// HTTP/3 frames (RFC 9114 7): reading them from a stream as its bytes come, and writing them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>

#include "base/bytes.h"
#include "wire/http3/errors.h"

namespace pqedge::http3 {

namespace frame {
inline constexpr uint64_t kData = 0x00;
inline constexpr uint64_t kHeaders = 0x01;
inline constexpr uint64_t kCancelPush = 0x03;
inline constexpr uint64_t kSettings = 0x04;
inline constexpr uint64_t kPushPromise = 0x05;
inline constexpr uint64_t kGoaway = 0x07;
inline constexpr uint64_t kMaxPushId = 0x0d;
inline constexpr uint64_t kPriorityUpdate = 0xf0700;  // of a request (RFC 9218 7.2)
inline constexpr uint64_t kPriorityUpdatePush = 0xf0701;

// Types that HTTP/2 used and HTTP/3 must not (RFC 9114 7.2.8).
constexpr bool is_of_http2(uint64_t type) {
  return type == 0x02 || type == 0x06 || type == 0x08 || type == 0x09;
}
// Types that have their place on the control stream only.
constexpr bool is_of_control_stream(uint64_t type) {
  return type == kCancelPush || type == kSettings || type == kGoaway || type == kMaxPushId ||
         type == kPriorityUpdate || type == kPriorityUpdatePush;
}
}  // namespace frame

namespace stream_type {
inline constexpr uint64_t kControl = 0x00;
inline constexpr uint64_t kPush = 0x01;
inline constexpr uint64_t kQpackEncoder = 0x02;
inline constexpr uint64_t kQpackDecoder = 0x03;
}  // namespace stream_type

// 0x1f * n + 0x21: means nothing and must be skipped (RFC 9114 7.2.8, 6.2.3).
constexpr uint64_t reserved_id(uint64_t n) { return 0x1f * n + 0x21; }

// Takes a variable-length integer that may come in pieces.
class VarintReader {
 public:
  // True when it is whole: value() holds then, and the next call begins another.
  bool read(Bytes& in);
  uint64_t value() const { return value_; }
  bool begun() const { return have_ != 0; }

 private:
  uint64_t value_ = 0;
  uint8_t size_ = 0;
  uint8_t have_ = 0;
};

// Cuts a stream into frames. Keeps nothing but where it is: payloads are handed on as they come.
class FrameReader {
 public:
  enum class Event : uint8_t {
    more,     // all of `in` was taken
    begin,    // type() and length() are known
    payload,  // payload() holds a piece, not empty, valid as long as the input
    end       // the frame is complete; also after a frame without payload
  };
  // Takes from the front of `in` up to the next event.
  Event next(Bytes& in);

  uint64_t type() const { return type_; }
  uint64_t length() const { return length_; }
  uint64_t remaining() const { return remaining_; }
  Bytes payload() const { return payload_; }
  // The stream may end here.
  bool between_frames() const { return state_ == State::type && !varint_.begun(); }

 private:
  enum class State : uint8_t { type, length, payload };
  State state_ = State::type;
  VarintReader varint_;
  uint64_t type_ = 0;
  uint64_t length_ = 0;
  uint64_t remaining_ = 0;
  Bytes payload_;
};

// Writes type and length; room for 16 bytes. Returns the end.
uint8_t* store_frame_header(uint8_t* p, uint64_t type, uint64_t length);

// What the peer said in SETTINGS (RFC 9114 7.2.4.1, RFC 9204 5).
struct PeerSettings {
  uint64_t qpack_max_table_capacity = 0;
  uint64_t qpack_blocked_streams = 0;
  uint64_t max_field_section_size = UINT64_MAX;
};
// A whole payload.
std::expected<PeerSettings, ConnectionError> parse_settings(Bytes payload);

// Ours: a SETTINGS frame with its header. One setting of a reserved identifier is among them, so
// that clients keep skipping what they do not know. Returns the size.
struct LocalSettings {
  uint64_t qpack_max_table_capacity = 0;
  uint64_t qpack_blocked_streams = 0;
  uint64_t max_field_section_size = 0;
  bool connect_protocol = false;  // RFC 9220 3
  uint64_t grease = 0;            // chooses the reserved identifier and its value
};
inline constexpr size_t kMaxSettingsFrame = 64;
size_t store_settings(uint8_t* p, const LocalSettings& settings);

// A payload that is one varint and nothing else (GOAWAY, MAX_PUSH_ID, CANCEL_PUSH).
std::expected<uint64_t, ConnectionError> parse_id(Bytes payload);

}  // namespace pqedge::http3
