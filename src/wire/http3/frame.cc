#include "wire/http3/frame.h"

#include <algorithm>
#include <array>
#include <span>

#include "wire/quic/varint.h"

namespace pqedge::http3 {
namespace {

namespace setting {
constexpr uint64_t kQpackMaxTableCapacity = 0x01;
constexpr uint64_t kMaxFieldSectionSize = 0x06;
constexpr uint64_t kQpackBlockedStreams = 0x07;
constexpr uint64_t kEnableConnectProtocol = 0x08;  // RFC 9220 5, RFC 8441 9.1

// HTTP/2's, which have no meaning here and are an error (RFC 9114 7.2.4.1, 11.2.2).
constexpr bool is_of_http2(uint64_t id) { return id == 0 || (id >= 0x02 && id <= 0x05); }
}  // namespace setting

// A peer that has more to say than this is not one we understand.
constexpr size_t kMaxSettings = 64;

std::unexpected<ConnectionError> error(ErrorCode code, const char* reason) {
  return std::unexpected(ConnectionError{code, reason});
}

}  // namespace

bool VarintReader::read(Bytes& in) {
  while (!in.empty()) {
    const uint8_t byte = in[0];
    in = in.subspan(1);
    if (have_ == 0) {
      size_ = static_cast<uint8_t>(quic::varint_size_of(byte));
      value_ = byte & 0x3f;
    } else {
      value_ = value_ << 8 | byte;
    }
    if (++have_ == size_) {
      have_ = 0;
      return true;
    }
  }
  return false;
}

FrameReader::Event FrameReader::next(Bytes& in) {
  switch (state_) {
    case State::type:
      if (!varint_.read(in)) return Event::more;
      type_ = varint_.value();
      state_ = State::length;
      [[fallthrough]];
    case State::length:
      if (!varint_.read(in)) return Event::more;
      length_ = remaining_ = varint_.value();
      state_ = State::payload;
      return Event::begin;
    case State::payload: break;
  }
  if (remaining_ == 0) {
    state_ = State::type;
    return Event::end;
  }
  if (in.empty()) return Event::more;
  const size_t n = static_cast<size_t>(std::min<uint64_t>(in.size(), remaining_));
  payload_ = in.first(n);
  in = in.subspan(n);
  remaining_ -= n;
  return Event::payload;
}

uint8_t* store_frame_header(uint8_t* p, uint64_t type, uint64_t length) {
  return quic::store_varint(quic::store_varint(p, type), length);
}

std::expected<PeerSettings, ConnectionError> parse_settings(Bytes payload) {
  PeerSettings settings;
  std::array<uint64_t, kMaxSettings> seen;
  size_t count = 0;
  while (!payload.empty()) {
    uint64_t id = 0;
    uint64_t value = 0;
    if (!quic::take_varint(payload, id) || !quic::take_varint(payload, value)) {
      return error(ErrorCode::frame_error, "SETTINGS ends within a setting");
    }
    if (setting::is_of_http2(id)) {
      return error(ErrorCode::settings_error, "SETTINGS has a setting of HTTP/2");
    }
    if (std::ranges::contains(std::span(seen).first(count), id)) {
      return error(ErrorCode::settings_error, "SETTINGS has a setting twice");
    }
    if (count == seen.size()) {
      return error(ErrorCode::excessive_load, "SETTINGS has too many settings");
    }
    seen[count++] = id;
    if (id == setting::kQpackMaxTableCapacity) settings.qpack_max_table_capacity = value;
    if (id == setting::kQpackBlockedStreams) settings.qpack_blocked_streams = value;
    if (id == setting::kMaxFieldSectionSize) settings.max_field_section_size = value;
  }
  return settings;
}

size_t store_settings(uint8_t* p, const LocalSettings& settings) {
  uint8_t payload[kMaxSettingsFrame - 2];
  uint8_t* end = payload;
  const auto put = [&end](uint64_t id, uint64_t value) {
    end = quic::store_varint(quic::store_varint(end, id), value);
  };
  put(setting::kQpackMaxTableCapacity, settings.qpack_max_table_capacity);
  put(setting::kQpackBlockedStreams, settings.qpack_blocked_streams);
  put(setting::kMaxFieldSectionSize, settings.max_field_section_size);
  if (settings.connect_protocol) put(setting::kEnableConnectProtocol, 1);
  put(reserved_id(settings.grease & 0xffff), settings.grease >> 16 & 0xffff);
  const auto size = static_cast<size_t>(end - payload);
  uint8_t* body = store_frame_header(p, frame::kSettings, size);
  std::copy(payload, end, body);
  return static_cast<size_t>(body - p) + size;
}

std::expected<uint64_t, ConnectionError> parse_id(Bytes payload) {
  uint64_t id = 0;
  if (!quic::take_varint(payload, id) || !payload.empty()) {
    return error(ErrorCode::frame_error, "a frame of one identifier has another length");
  }
  return id;
}

}  // namespace pqedge::http3
