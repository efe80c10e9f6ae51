// Decoded fields of a backend's answer -> http::Response, with every limit kept while they are
// decoded (RFC 9113 8.3.2, 10.5.1).
#pragma once

#include <cstdint>
#include <string_view>

#include "http/limits.h"
#include "http/message.h"

namespace pqedge::http2 {

// For one field section at a time: begin_*, field() for each, end_*.
class ResponseReader {
 public:
  void begin_head(const http::Limits& limits, http::Response& response);
  void begin_trailers(const http::Limits& limits, http::Response& response);

  // nghttp2 has checked the name, the value, and the order and number of pseudo-header fields. What
  // is beyond a limit is not stored.
  void field(http::Response& response, std::string_view name, std::string_view value,
             bool sensitive);
  // True when the section is fit to be told; else reason() says why not. `end`: END_STREAM.
  bool end_head(http::Response& response, http::Method method, bool end);
  bool end_trailers() const { return reason_.empty(); }
  std::string_view reason() const { return reason_; }
  // So many times over the limit that the rest need not be decoded.
  bool hopeless() const { return size_ > uint64_t{4} * max_size_ + 64 * 1024; }

 private:
  static constexpr uint32_t kFieldOverhead = 32;  // RFC 9113 6.5.2

  void begin(uint32_t max_size, uint32_t max_fields);
  void refuse(std::string_view reason) {
    if (reason_.empty()) reason_ = reason;
  }

  bool trailers_ = false;
  uint32_t max_size_ = 0;
  uint32_t max_fields_ = 0;
  uint64_t size_ = 0;  // decoded so far, with the overhead
  uint32_t fields_ = 0;
  std::string_view reason_;
};

}  // namespace pqedge::http2
