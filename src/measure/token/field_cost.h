// What a field costs on HTTP/2 (HPACK, RFC 7541) and HTTP/3 (QPACK, RFC 9204): the first request of
// a connection and those that follow.
//
// Each figure is the difference between a request's encoded field section with the field and
// without it, on two encoders with the same history. The other fields are those of a plain GET.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pqedge::measure {

struct FieldCost {
  size_t first = 0;
  size_t following = 0;
};

inline constexpr size_t kHeaderTable = 4096;  // the default of SETTINGS_HEADER_TABLE_SIZE

// As nghttp2's encoder does it, with a table of 4,096 bytes (RFC 9113 6.5.2).
Result<FieldCost> hpack_cost(std::string_view name, std::string_view value);

// As nghttp3's encoder does it, encoder stream included, when the peer grants a table of
// `capacity` bytes (RFC 9204 5: 0 unless it says otherwise). `ask`: the application asks for the
// field to be indexed.
Result<FieldCost> qpack_cost(std::string_view name, std::string_view value, size_t capacity,
                             bool ask = false);

// An `authorization` field by an HPACK encoder that indexes whatever fits the table (RFC 7541 4.1:
// name + value + 32): the encoding is made here and read back by nghttp2's decoder.
Result<FieldCost> hpack_cost_if_indexed(std::string_view authorization);

}  // namespace pqedge::measure
