// From decoded field lines to the fields of a message, for requests and answers (RFC 9114 4.2).
#pragma once

#include <cstdint>
#include <string_view>

#include "http/message.h"
#include "wire/http3/qpack.h"

namespace pqedge::http3 {

// Counts what a section takes while it is decoded: that is when a bomb must be seen (RFC
// 9114 4.2.2, 32 bytes a field added; cookie crumbs are fields).
class SectionBudget {
 public:
  SectionBudget(uint32_t max_bytes, uint32_t max_fields) : bytes_(max_bytes), fields_(max_fields) {}
  bool take(const DecodedField& f) {
    const uint64_t cost = f.name.size() + f.value.size() + 32;
    if (cost > bytes_ || fields_ == 0) return false;
    bytes_ -= cost;
    --fields_;
    return true;
  }

 private:
  uint64_t bytes_;
  uint32_t fields_;
};

// What makes the message malformed: upper case, and whatever RFC 9110 5.5 has no place for. Empty:
// nothing.
std::string_view fault_of(const DecodedField& f);

// Kept in the arena where it is not static.
std::string_view kept(Arena& arena, std::string_view text, bool is_static);
void append(http::Fields& fields, Arena& arena, const DecodedField& f);

}  // namespace pqedge::http3
