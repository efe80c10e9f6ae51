// From decoded fields to a request's head and trailers (RFC 9114 4.1 to 4.3).
#pragma once

#include <cstdint>
#include <optional>

#include "http/limits.h"
#include "http/message.h"
#include "http/uri.h"
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

class RequestHeadReader {
 public:
  RequestHeadReader(http::Request& request, const http::Limits& limits);
  // False: the request is refused, refusal() says how. Nothing more may be added.
  bool add(const DecodedField& field);
  // All fields are there.
  bool finish();
  const http::Refusal& refusal() const { return refusal_; }

 private:
  bool add_pseudo(const DecodedField& field);
  bool set_once(std::string_view& member, uint8_t bit, const DecodedField& field);
  bool finish_pseudo();
  bool take_upgrade();
  bool finish_length();
  void join_cookies();
  bool refuse(uint16_t status, std::string_view reason);

  http::Request& request_;
  const http::Limits& limits_;
  SectionBudget budget_;
  uint8_t seen_ = 0;  // pseudo-header fields, a bit each
  bool regular_ = false;
  http::Refusal refusal_;
};

class TrailerReader {
 public:
  TrailerReader(http::Request& request, const http::Limits& limits)
      : request_(request), budget_(limits.max_trailers, limits.max_fields) {}
  bool add(const DecodedField& field);
  const http::Refusal& refusal() const { return refusal_; }

 private:
  http::Request& request_;
  SectionBudget budget_;
  http::Refusal refusal_;
};

}  // namespace pqedge::http3
