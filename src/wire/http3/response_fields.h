// From a response to the fields of its HEADERS frame.
#pragma once

#include <array>
#include <span>

#include "http/message.h"
#include "wire/http3/field_list.h"

namespace pqedge::http3 {

class ResponseFields : public FieldList {
 public:
  // With :status and content-length.
  std::span<const nghttp3_nv> of_head(const http::Response& response);

 private:
  std::array<char, 4> status_;
};

}  // namespace pqedge::http3
