// The field lines of a section that is about to be encoded.
#pragma once

#include <nghttp3/nghttp3.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "http/fields.h"

namespace pqedge::http3 {

// Kept by a connection, so that no head allocates once the lists have grown. The views are into the
// message, and hold until the next begin().
class FieldList {
 public:
  std::span<const nghttp3_nv> of_trailers(const http::Fields& trailers);

 protected:
  void begin() { fields_.clear(); }
  void add(std::string_view name, std::string_view value, uint8_t flags = NGHTTP3_NV_FLAG_NONE);
  // Once a section. `keep_length`: also content-length, else it is left out.
  void add_fields(const http::Fields& fields, bool keep_length);
  void add_length(uint64_t length);
  std::span<const nghttp3_nv> fields() const { return fields_; }

 private:
  std::vector<nghttp3_nv> fields_;
  std::string lowered_;  // names that came in another case
  std::array<char, 24> length_;
};

}  // namespace pqedge::http3
