#include "wire/http1/body_reader.h"

#include <algorithm>

namespace pqedge::http1 {

void BodyReader::begin(Coding coding, uint64_t length) {
  coding_ = coding;
  left_ = length;
  if (coding == Coding::chunked) {
    chunks_ = {};
    trailers_.reset();
  }
}

BodyReader::Outcome BodyReader::next(Input& input, size_t max_data,
                                     const HeadLimits& trailer_limits, http::Fields& trailers) {
  switch (coding_) {
    case Coding::none: return {Event::end, {}, {}};
    case Coding::chunked: return next_chunked(input, max_data, trailer_limits, trailers);
    case Coding::length:
      if (left_ == 0) return {Event::end, {}, {}};
      break;
    case Coding::until_close: left_ = UINT64_MAX; break;
  }
  const size_t n =
      static_cast<size_t>(std::min<uint64_t>(left_, std::min(input.pending().size(), max_data)));
  if (n == 0) return {Event::need_more, {}, {}};
  left_ -= n;
  return {Event::data, input.take(n), {}};
}

BodyReader::Outcome BodyReader::next_chunked(Input& input, size_t max_data,
                                             const HeadLimits& trailer_limits,
                                             http::Fields& trailers) {
  const ChunkedDecoder::Outcome outcome = chunks_.next(input.pending(), max_data);
  input.consume(outcome.skip);
  switch (outcome.event) {
    case ChunkedDecoder::Event::need_more: return {Event::need_more, {}, {}};
    case ChunkedDecoder::Event::data: return {Event::data, input.take(outcome.size), {}};
    case ChunkedDecoder::Event::trailers: return read_trailers(input, trailer_limits, trailers);
    case ChunkedDecoder::Event::error: break;
  }
  return {Event::error, {}, {400, outcome.reason}};
}

// RFC 9112 7.1.2.
BodyReader::Outcome BodyReader::read_trailers(Input& input, const HeadLimits& limits,
                                              http::Fields& trailers) {
  const std::string_view bytes = input.head();
  const HeadScanner::Outcome found = trailers_.scan(bytes, limits);
  if (found.status == HeadScanner::Status::need_more) return {Event::need_more, {}, {}};
  if (found.status == HeadScanner::Status::error) return {Event::error, {}, found.refusal};
  if (found.size > 2) {
    const std::string_view section = copy_head(bytes.substr(0, found.size), trailers.arena());
    const auto ok = parse_fields(section, found.lines, HeadKind::trailers, limits, trailers);
    if (!ok) {
      return {Event::error, {}, ok.error()};
    }
  }
  input.consume_head(found.size);
  coding_ = Coding::none;
  return {Event::end, {}, {}};
}

}  // namespace pqedge::http1
