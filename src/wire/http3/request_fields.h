// From decoded fields to a request's head and trailers (RFC 9114 4.1 to 4.3).
#pragma once

#include <cstdint>
#include <optional>

#include "http/limits.h"
#include "http/message.h"
#include "http/uri.h"
#include "wire/http3/decoded_field.h"

namespace pqedge::http3 {

class RequestHeadReader {
 public:
  RequestHeadReader(http::Request& request, const http::Limits& limits);
  // False: the request is refused, refusal() says how. Nothing more may be added.
  bool add(const DecodedField& field);
  // All fields are there.
  bool finish();
  const http::Refusal& refusal() const { return refusal_; }
  // It is no request at all: its fields are not ones that HTTP/3 has.
  bool malformed() const { return !sound_ && refusal_.status == 400; }

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
  bool sound_ = false;  // all fields are there that must be, and none that may not
  http::Refusal refusal_;
};

// Of a request or an answer.
class TrailerReader {
 public:
  TrailerReader(http::Fields& trailers, const http::Limits& limits)
      : trailers_(trailers), budget_(limits.max_trailers, limits.max_fields) {}
  bool add(const DecodedField& field);
  const http::Refusal& refusal() const { return refusal_; }
  bool malformed() const { return refusal_.status == 400; }

 private:
  http::Fields& trailers_;
  SectionBudget budget_;
  http::Refusal refusal_;
};

}  // namespace pqedge::http3
