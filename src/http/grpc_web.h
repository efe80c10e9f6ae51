// gRPC-Web (github.com/grpc/grpc/blob/master/doc/PROTOCOL-WEB.md): the trailers are the last frame
// of the body, and the body may be base64.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/chunk.h"
#include "http/fields.h"

namespace pqedge::http {

// A body of base64 as it comes: groups of four, each of which may be padded, since a client may
// encode its body piece by piece.
class Base64Stream {
 public:
  // The bytes that are whole so far; nothing: it is no base64.
  std::optional<std::string> decode(std::string_view text);
  // Characters of a group that has begun.
  size_t begun() const { return have_; }

 private:
  uint32_t group_ = 0;
  uint8_t have_ = 0;     // characters of the group
  uint8_t padding_ = 0;  // of them
};

// The last frame: trailers as an HTTP/1 field section.
std::string grpc_web_trailers(const Fields& trailers);

// The content type of the answer for the client, from that of the backend: "application/grpc+proto"
// becomes "application/grpc-web+proto", or "application/grpc-web-text+proto".
std::string to_grpc_web_type(std::string_view grpc_type, bool as_text);
// And of the request for the backend.
std::string to_grpc_type(std::string_view web_type);

}  // namespace pqedge::http
