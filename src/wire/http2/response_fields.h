// http::Response and http::Request -> the fields of a HEADERS frame (RFC 9113 8.2, 8.3), as nghttp2
// wants them.
#pragma once

#include <nghttp2/nghttp2.h>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "http/message.h"

namespace pqedge::http2 {

// Reused for every section a thread sends. What build() returns is good until the next call, and
// as long as the response: nghttp2 copies values, and names that are not static, when they are
// submitted, since a head may wait in its queue for longer than the exchange lives.
class FieldBlock {
 public:
  static FieldBlock& of_thread();

  // `end`: nothing follows the head.
  std::span<const nghttp2_nv> response(const http::Response& response);
  std::span<const nghttp2_nv> request(const http::Request& request);
  std::span<const nghttp2_nv> trailers(const http::Fields& fields);

 private:
  void add(std::string_view name, std::string_view value, uint8_t flags);
  void add_field(const http::Field& field);
  void add_length(uint64_t length);

  std::vector<nghttp2_nv> fields_;
  std::array<char, 4> status_{};
  std::array<char, 20> length_{};
};

}  // namespace pqedge::http2
