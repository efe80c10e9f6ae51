// The HTTP/2 frame scanner: however the bytes are cut, it stops at the same place for the same
// reason, and never lets nghttp2 have more than it was given.
//
// Input: one byte that decides how the second pass cuts, then what a client sends.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "wire/http2/frame_scanner.h"

namespace {

using pqedge::Bytes;
using pqedge::http2::FloodBudget;
using pqedge::http2::FrameScanner;

constexpr size_t kMaxBlock = 4096;
constexpr pqedge::Nanos kNow = pqedge::kSecond;

struct Outcome {
  size_t passed = 0;  // bytes given to nghttp2
  FrameScanner::Stop stop = FrameScanner::Stop::none;
  uint32_t stream_id = 0;
  int32_t points = 0;
  uint32_t highest = 0;
  bool in_head = false;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

// Old streams below 100 are permitted, so that the scan goes on over them.
Outcome run(Bytes input, size_t piece) {
  FloodBudget budget(kNow);
  FrameScanner scanner(budget, kMaxBlock);
  Outcome out;
  while (!input.empty() && out.stop == FrameScanner::Stop::none) {
    Bytes part = input.first(std::min(piece, input.size()));
    input = input.subspan(part.size());
    while (!part.empty()) {
      const FrameScanner::Result r = scanner.scan(part, kNow);
      if (r.size > part.size()) std::abort();
      if (r.stop == FrameScanner::Stop::none && r.size != part.size()) std::abort();
      out.passed += r.size;
      part = part.subspan(r.size);
      if (r.stop == FrameScanner::Stop::old_stream && r.stream_id < 100) {
        scanner.permit(r.stream_id);
        continue;
      }
      out.stop = r.stop;
      out.stream_id = r.stream_id;
      if (r.stop != FrameScanner::Stop::none) break;
    }
  }
  out.points = budget.points();
  out.highest = scanner.highest_stream();
  out.in_head = scanner.head_began() != pqedge::kNever;
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t piece = size_t{data[0]} % 64 + 1;
  const Bytes input{data + 1, size - 1};
  Outcome whole = run(input, SIZE_MAX);
  Outcome cut = run(input, piece);
  if (whole.stop != FrameScanner::Stop::none) {
    // The part of the stopping frame's header that came in earlier pieces has passed already.
    const size_t more = cut.passed - whole.passed;
    if (more >= pqedge::http2::kFrameHeaderSize) std::abort();
    cut.passed = whole.passed;
  }
  if (whole != cut) std::abort();
  return 0;
}
