// Looks at the 9-byte header of every frame a client sends before nghttp2 does: charges the flood
// budget, and finds what nghttp2 drops without a word (HEADERS on an old stream, nghttp2#2278; DATA
// on one that is not there any more), or does not look at (frame_check.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/time.h"
#include "wire/http2/flood_budget.h"
#include "wire/http2/frame.h"
#include "wire/http2/frame_check.h"
#include "wire/http2/hpack_strings.h"

namespace pqedge::http2 {

class FrameScanner {
 public:
  // DATA with less payload than this and no END_STREAM is charged a little (Charge::tiny_data).
  static constexpr uint32_t kTinyData = 16;

  enum class Stop : uint8_t {
    none,        // everything was scanned
    flood,       // the budget is spent on `charge`
    old_stream,  // HEADERS on `stream_id`, which is not above all before it, or DATA where the peer
                 // may have ended the stream: the caller judges, and calls permit() to go on
    long_block,  // a field block of more than the limit of encoded bytes
    long_string,  // a string in a field block that nghttp2 does not decode; the scan is over
    bad_frame     // `error` is what the connection ends with; the scan is over
  };
  struct Result {
    size_t size = 0;  // bytes that nghttp2 may be given; the frame that stopped us is not in it
    Stop stop = Stop::none;
    Charge charge{};
    uint32_t stream_id = 0;
    bool in_path = false;  // the long string is the value of ":path"
    FrameType type{};      // of the frame that stopped us
    ErrorCode error{};
  };

  // `max_block`: encoded bytes of one field block, HEADERS and its CONTINUATIONs together.
  FrameScanner(FloodBudget& budget, size_t max_block) : budget_(budget), max_block_(max_block) {}

  // Call again with what is left after Result::size, until none of the bytes are left.
  Result scan(Bytes bytes, Nanos now);
  // The frame that stopped the scan with old_stream is all right.
  void permit(uint32_t stream_id) { permitted_ = stream_id; }

  // When the field block (or the connection preface) that has begun and not ended began; kNever
  // outside of one. The clock of slow heads.
  Nanos head_began() const { return head_began_; }
  void expect_preface(Nanos now) { head_began_ = now; }
  void forget_head() { head_began_ = kNever; }
  uint32_t highest_stream() const { return highest_stream_; }

 private:
  Stop judge(const FrameHeader& frame, Nanos now);
  Stop judge_block(const FrameHeader& frame, Nanos now);
  Stop judge_data(const FrameHeader& frame, Nanos now);
  bool spend(Charge charge, Nanos now) {
    charged_ = charge;
    return budget_.spend(charge, now);
  }
  size_t pass_payload(Bytes rest);
  void begin_frame(const FrameHeader& frame);
  void end_frame();

  FloodBudget& budget_;
  const size_t max_block_;
  size_t preface_left_ = kPreface.size();
  size_t payload_left_ = 0;
  size_t header_have_ = 0;  // bytes of header_
  uint8_t header_[kFrameHeaderSize] = {};
  FrameHeader frame_;      // the frame whose payload is passing
  size_t block_size_ = 0;  // encoded bytes of the open field block
  HpackStrings strings_;   // of a block that is continued
  bool watch_strings_ = false;
  size_t skip_ = 0;  // bytes of the payload before the block
  Nanos head_began_ = kNever;
  uint32_t highest_stream_ = 0;
  uint32_t permitted_ = 0;
  uint32_t data_stream_ = 0;    // the peer's last frame there was HEADERS or DATA, and not its end
  bool settings_seen_ = false;  // the first SETTINGS is part of the preface, and free
  Charge charged_{};
  FrameCheck check_;
  ErrorCode error_{};
};

}  // namespace pqedge::http2
