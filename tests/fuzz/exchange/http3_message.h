// Messages in the HTTP/3 frames that the program wrote to a client, and the frames of a script.
// QPACK is nghttp3's, without a dynamic table: the client of a script allows none.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/exchange/script.h"
#include "fuzz/exchange/sections.h"
#include "wire/http3/frame.h"
#include "wire/http3/qpack.h"
#include "wire/quic/varint.h"

namespace pqedge::fuzz {

inline std::string http3_frame(uint64_t type, std::string_view payload) {
  uint8_t header[16];
  const uint8_t* const end = http3::store_frame_header(header, type, payload.size());
  std::string out(reinterpret_cast<const char*>(header), static_cast<size_t>(end - header));
  return out.append(payload);
}

// RFC 7541 5.1, RFC 9204 4.1.1: what stands before the number's bits in its first byte is `first`.
inline void put_integer(std::string& out, uint8_t first, unsigned bits, uint64_t n) {
  const uint64_t most = (uint64_t{1} << bits) - 1;
  if (n < most) {
    out += static_cast<char>(first | n);
    return;
  }
  out += static_cast<char>(first | most);
  for (n -= most; n >= 128; n /= 128) out += static_cast<char>(n % 128 + 128);
  out += static_cast<char>(n);
}

// Field lines with literal names (RFC 9204 4.5.6).
inline std::string http3_headers(const ScriptFrame& f) {
  std::string section(2, '\0');
  for (const auto& [name, value] : read_script_fields(f.rest)) {
    put_integer(section, 0x20, 3, name.size());
    section += name;
    put_integer(section, 0, 7, value.size());
    section += value;
  }
  return http3_frame(http3::frame::kHeaders, section);
}

// What came on a request stream, as far as it did.
inline StreamRead read_http3_stream(int64_t id, std::string_view bytes, bool ended, bool reset) {
  StreamRead out;
  out.ended = ended;
  out.reset = reset;
  http3::QpackDecoder decoder(1, 0);
  http3::FrameReader frames;
  std::string payload;
  Bytes in = as_bytes(bytes);
  for (bool going = true; going;) {
    switch (frames.next(in)) {
      case http3::FrameReader::Event::more: going = false; break;
      case http3::FrameReader::Event::begin: payload.clear(); break;
      case http3::FrameReader::Event::payload:
        if (frames.type() == http3::frame::kData) {
          require(!out.sections.empty(), "DATA follow HEADERS");
          out.body += as_text(frames.payload());
        }
        payload += as_text(frames.payload());
        break;
      case http3::FrameReader::Event::end: {
        const uint64_t type = frames.type();
        require(!http3::frame::is_of_http2(type) && !http3::frame::is_of_control_stream(type) &&
                    type != http3::frame::kPushPromise,
                "no frame is out of place");
        if (type != http3::frame::kHeaders) break;
        out.sections.emplace_back();
        out.body_before.push_back(out.body.size());
        http3::FieldSection section(id);
        Bytes block = as_bytes(payload);
        const auto status = section.decode(decoder, block, true, [&](const http3::DecodedField& f) {
          out.sections.back().emplace_back(std::string(f.name), std::string(f.value));
          return true;
        });
        require(status == http3::FieldSection::Status::done, "a field section can be decoded");
        break;
      }
    }
  }
  if (ended && !reset) require(frames.between_frames(), "a stream ends between frames");
  return out;
}

}  // namespace pqedge::fuzz
