// From a response to the fields of its HEADERS frame.
#pragma once

#include <nghttp3/nghttp3.h>

#include <array>
#include <span>
#include <string>
#include <vector>

#include "http/message.h"

namespace pqedge::http3 {

// Kept by a connection, so that no head allocates once the lists have grown.
class ResponseFields {
 public:
  // The views are into the response and hold until the next call. `head`: with :status and
  // content-length; else a trailer section.
  std::span<const nghttp3_nv> of_head(const http::Response& response);
  std::span<const nghttp3_nv> of_trailers(const http::Fields& trailers);

 private:
  void add(std::string_view name, std::string_view value, uint8_t flags);
  void add_fields(const http::Fields& fields, bool keep_length);

  std::vector<nghttp3_nv> fields_;
  std::string lowered_;  // names that came in another case
  std::array<char, 4> status_;
  std::array<char, 24> length_;
};

}  // namespace pqedge::http3
