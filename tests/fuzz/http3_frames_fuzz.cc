// HTTP/3 frames: the same bytes in one piece and in many must give the same frames, and what is in
// them must be read or refused without harm.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/bytes.h"
#include "http/priority.h"
#include "wire/http3/frame.h"
#include "wire/quic/varint.h"

namespace {

using namespace pqedge;
using http3::FrameReader;

void check(bool good) {
  if (!good) std::abort();
}

void read_payload(uint64_t type, Bytes payload) {
  switch (type) {
    case http3::frame::kSettings: (void)http3::parse_settings(payload); break;
    case http3::frame::kGoaway:
    case http3::frame::kMaxPushId:
    case http3::frame::kCancelPush: (void)http3::parse_id(payload); break;
    case http3::frame::kPriorityUpdate: {
      uint64_t id = 0;
      if (!quic::take_varint(payload, id)) return;
      const http::Priority p = http::parse_priority(as_text(payload));
      check(p.urgency <= 7);
      break;
    }
    default: break;
  }
}

// All that a reader tells, as text. `step` bytes at a time; 0: all at once.
std::string frames_of(Bytes input, size_t step, bool read) {
  FrameReader reader;
  std::string told;
  std::string payload;
  while (!input.empty()) {
    Bytes in = input.first(step == 0 || step > input.size() ? input.size() : step);
    input = input.subspan(in.size());
    for (bool going = true; going;) {
      switch (reader.next(in)) {
        case FrameReader::Event::more:
          check(in.empty());
          going = false;
          break;
        case FrameReader::Event::begin:
          told += "[" + std::to_string(reader.type()) + "," + std::to_string(reader.length()) + ":";
          payload.clear();
          break;
        case FrameReader::Event::payload:
          check(!reader.payload().empty());
          told += as_text(reader.payload());
          payload += as_text(reader.payload());
          break;
        case FrameReader::Event::end:
          check(payload.size() == reader.length());
          told += "]";
          if (read) read_payload(reader.type(), as_bytes(payload));
          break;
      }
    }
  }
  told += reader.between_frames() ? "." : "...";
  return told;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Bytes input{data, size};
  const std::string whole = frames_of(input, 0, true);
  check(frames_of(input, 1, false) == whole);
  check(frames_of(input, 7, false) == whole);
  (void)http3::parse_settings(input);
  (void)http3::parse_id(input);
  (void)http::parse_priority(as_text(input));
  return 0;
}
