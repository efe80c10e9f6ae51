// Decoded fields -> http::Request, with every limit kept while they are decoded (RFC 9113 8.3,
// 10.5.1): what is beyond a limit is never stored.
#pragma once

#include <cstdint>
#include <string_view>

#include "http/limits.h"
#include "http/message.h"

namespace pqedge::http2 {

// For one field section at a time: begin_*, field() for each, end_*.
class RequestReader {
 public:
  // A section this many times over the limit is not a mistake: the connection ends.
  static constexpr uint32_t kBombFactor = 4;
  static constexpr uint32_t kFieldOverhead = 32;  // RFC 9113 6.5.2, RFC 7541 4.1

  void begin_head(const http::Limits& limits);
  void begin_trailers(const http::Limits& limits);

  // False: a header bomb. nghttp2 has checked the name, the value, the order of pseudo-header
  // fields and that none of them comes twice (RFC 9113 8.2.1, 8.3).
  bool field(http::Request& request, std::string_view name, std::string_view value, bool sensitive);

  // Judge the whole section and set what follows from it. `end`: END_STREAM. True when the request
  // is fit to be told; else refusal_status() and refusal_reason() say why not.
  bool end_head(http::Request& request, bool end);
  bool end_trailers() const { return status_ == 0; }

  uint16_t refusal_status() const { return status_; }
  std::string_view refusal_reason() const { return reason_; }

 private:
  void begin(uint32_t max_size, uint32_t max_fields);
  bool count(size_t size, bool pseudo);
  void refuse(uint16_t status, std::string_view reason);
  void pseudo_field(http::Request& request, std::string_view name, std::string_view value);
  void regular_field(http::Request& request, std::string_view name, std::string_view value,
                     bool sensitive);
  void join_cookies(http::Request& request) const;
  void set_body(http::Request& request, bool end);
  void take_upgrade(http::Request& request);

  bool trailers_ = false;
  uint16_t status_ = 0;
  uint32_t max_size_ = 0;
  uint32_t max_fields_ = 0;
  uint32_t max_target_ = 0;
  uint64_t max_body_ = 0;
  uint64_t size_ = 0;  // decoded so far, with the overhead
  uint32_t fields_ = 0;
  uint32_t cookies_ = 0;
  std::string_view reason_;
};

}  // namespace pqedge::http2
