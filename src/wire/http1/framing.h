// What a head says about the body after it and about the connection (RFC 9112 6, 7.1, 9.3).
#pragma once

#include <cstdint>
#include <expected>

#include "http/message.h"
#include "http/uri.h"

namespace pqedge::http1 {

enum class Coding : uint8_t {
  none,
  length,  // Content-Length bytes
  chunked,
  until_close  // responses only
};

struct Framing {
  Coding coding = Coding::none;
  uint64_t length = 0;      // also set where no body follows: HEAD, 304
  bool has_length = false;  // a Content-Length was there
  bool keep_alive = false;  // as far as this message goes
};

// One reading or a refusal (S8): Content-Length with Transfer-Encoding, two of either, a length
// that is not a plain decimal number, a coding that is not exactly "chunked".
std::expected<Framing, http::Refusal> request_framing(const http::Request& request);

// The same for an answer to a request of `method`. Refusals have status 502.
std::expected<Framing, http::Refusal> response_framing(const http::Response& response,
                                                       http::Method method);

}  // namespace pqedge::http1
