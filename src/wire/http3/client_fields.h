// From a request to the fields of its HEADERS frame, and from decoded fields to an answer's head
// (RFC 9114 4.3).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "http/limits.h"
#include "http/message.h"
#include "wire/http3/decoded_field.h"
#include "wire/http3/field_list.h"

namespace pqedge::http3 {

class RequestFields : public FieldList {
 public:
  // With the pseudo-header fields and content-length.
  std::span<const nghttp3_nv> of_head(const http::Request& request);
};

class ResponseHeadReader {
 public:
  ResponseHeadReader(http::Response& response, const http::Limits& limits);
  // False: the answer is not one, reason() says why. Nothing more may be added.
  bool add(const DecodedField& field);
  // All fields are there. Its body is not known yet: length or stream.
  bool finish();
  std::string_view reason() const { return reason_; }

 private:
  bool add_status(const DecodedField& field);
  bool refuse(std::string_view reason) {
    reason_ = reason;
    return false;
  }

  http::Response& response_;
  SectionBudget budget_;
  bool regular_ = false;
  std::string_view reason_;
};

}  // namespace pqedge::http3
