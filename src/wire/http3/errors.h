// Error codes of HTTP/3 (RFC 9114 8.1) and QPACK (RFC 9204 6).
#pragma once

#include <cstdint>

namespace pqedge::http3 {

enum class ErrorCode : uint64_t {
  no_error = 0x100,
  general_protocol_error = 0x101,
  internal_error = 0x102,
  stream_creation_error = 0x103,
  closed_critical_stream = 0x104,
  frame_unexpected = 0x105,
  frame_error = 0x106,
  excessive_load = 0x107,
  id_error = 0x108,
  settings_error = 0x109,
  missing_settings = 0x10a,
  request_rejected = 0x10b,
  request_cancelled = 0x10c,
  request_incomplete = 0x10d,
  message_error = 0x10e,
  connect_error = 0x10f,
  version_fallback = 0x110,
  qpack_decompression_failed = 0x200,
  qpack_encoder_stream_error = 0x201,
  qpack_decoder_stream_error = 0x202,
};

// Why a connection ends: the code for the peer and a static text for it and the log.
struct ConnectionError {
  ErrorCode code = ErrorCode::no_error;
  const char* reason = "";
};

}  // namespace pqedge::http3
