// A message body out of the input, by its framing.
#pragma once

#include <cstdint>

#include "wire/http1/chunked.h"
#include "wire/http1/framing.h"
#include "wire/http1/head_parser.h"
#include "wire/http1/input.h"

namespace pqedge::http1 {

class BodyReader {
 public:
  enum class Event : uint8_t {
    need_more,  // input, or (with max_data == 0) leave to hand data over
    data,
    end,
    error
  };
  struct Outcome {
    Event event;
    Slice data;
    http::Refusal refusal;
  };

  BodyReader() : trailers_(HeadKind::trailers) {}
  void begin(Coding coding, uint64_t length);

  // Takes the next piece out of `input`; the trailer section is added to `trailers` before `end`.
  Outcome next(Input& input, size_t max_data, const HeadLimits& trailer_limits,
               http::Fields& trailers);

  bool until_close() const { return coding_ == Coding::until_close; }
  // Bytes still to come: UINT64_MAX where the framing does not say.
  uint64_t left() const { return coding_ == Coding::length ? left_ : UINT64_MAX; }

 private:
  Outcome next_chunked(Input& input, size_t max_data, const HeadLimits& trailer_limits,
                       http::Fields& trailers);
  Outcome read_trailers(Input& input, const HeadLimits& limits, http::Fields& trailers);

  uint64_t left_ = 0;
  ChunkedDecoder chunks_;
  HeadScanner trailers_;
  Coding coding_ = Coding::none;
};

}  // namespace pqedge::http1
