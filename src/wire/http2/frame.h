// The fixed parts of HTTP/2 framing (RFC 9113 4.1, 6, 7).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/bytes.h"

namespace pqedge::http2 {

// RFC 9113 3.4.
inline constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
inline constexpr size_t kFrameHeaderSize = 9;

// Frame types come from the wire, so any value may occur.
enum class FrameType : uint8_t {
  data = 0x0,
  headers = 0x1,
  priority = 0x2,
  rst_stream = 0x3,
  settings = 0x4,
  push_promise = 0x5,
  ping = 0x6,
  goaway = 0x7,
  window_update = 0x8,
  continuation = 0x9,
  priority_update = 0x10  // RFC 9218 7.1
};

namespace flag {
inline constexpr uint8_t kEndStream = 0x1;
inline constexpr uint8_t kAck = 0x1;
inline constexpr uint8_t kEndHeaders = 0x4;
inline constexpr uint8_t kPadded = 0x8;
inline constexpr uint8_t kPriority = 0x20;
}  // namespace flag

// RFC 9113 7.
enum class ErrorCode : uint32_t {
  no_error = 0x0,
  protocol_error = 0x1,
  internal_error = 0x2,
  flow_control_error = 0x3,
  settings_timeout = 0x4,
  stream_closed = 0x5,
  frame_size_error = 0x6,
  refused_stream = 0x7,
  cancel = 0x8,
  compression_error = 0x9,
  connect_error = 0xa,
  enhance_your_calm = 0xb,
  inadequate_security = 0xc,
  http_1_1_required = 0xd
};

struct FrameHeader {
  uint32_t length = 0;  // of the payload, 24 bits
  FrameType type{};
  uint8_t flags = 0;
  uint32_t stream_id = 0;  // without the reserved bit

  // `bytes` has kFrameHeaderSize bytes.
  static FrameHeader parse(const uint8_t* bytes) {
    return {load_be24(bytes), static_cast<FrameType>(bytes[3]), bytes[4],
            load_be32(bytes + 5) & 0x7fff'ffff};
  }
  void store(uint8_t* bytes) const {
    bytes[0] = static_cast<uint8_t>(length >> 16);
    store_be16(bytes + 1, static_cast<uint16_t>(length));
    bytes[3] = static_cast<uint8_t>(type);
    bytes[4] = flags;
    store_be32(bytes + 5, stream_id);
  }
};

}  // namespace pqedge::http2
