// Heads and bodies into bytes (RFC 9112 2 to 7).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/chunk.h"
#include "http/message.h"
#include "net/stream.h"
#include "wire/http1/framing.h"

namespace pqedge::http1 {

// A head built in a buffer of this thread: one at a time.
class HeadWriter {
 public:
  HeadWriter();

  void status_line(uint16_t status);
  void request_line(std::string_view method, std::string_view target);
  // Writes all fields in their order but those that belong to a connection or to the framing, which
  // each hop makes anew (RFC 9110 7.6.1), and, if told so, Host.
  void fields(const http::Fields& fields, bool skip_host);
  void field(std::string_view name, std::string_view value);
  void content_length(uint64_t length);
  // Text of our own: whole lines.
  void line(std::string_view text);

  // Adds the empty line. The bytes stay valid until the next HeadWriter of this thread; empty when
  // a control byte was in what was to be written.
  Bytes finish();

 private:
  void need(size_t n) {
    if (n > static_cast<size_t>(end_ - at_)) grow(n);
  }
  void grow(size_t n);
  void put(std::string_view text);    // checked, room is there
  void trust(std::string_view text);  // unchecked, room is there

  char* at_;
  char* end_;
  bool sound_ = true;
};

// What a message says about its connection.
enum class Persistence : uint8_t {
  silent,  // HTTP/1.1 persists by itself (RFC 9112 9.3)
  close,
  keep_alive  // toward HTTP/1.0
};

// The head of an answer. Empty: it held a control byte.
Bytes write_response_head(const http::Response& response, const Framing& framing,
                          Persistence persistence);
// A 1xx: no framing, nothing on the connection (RFC 9110 8.6, RFC 9112 6.1).
Bytes write_informational(const http::Response& response);
// The head of an answer that begins a tunnel: without framing; for an upgrade the protocol is
// named, for CONNECT `upgrade` is empty.
Bytes write_tunnel_head(const http::Response& response, std::string_view upgrade);
// Asks for request.upgrade where it has one.
Bytes write_request_head(const http::Request& request, const Framing& framing);

// The bytes of a body into a stream, framed.
class BodyWriter {
 public:
  void begin(Coding coding, uint64_t length) {
    coding_ = coding;
    left_ = length;
    written_ = 0;
  }
  // False: more bytes than the length; what fits was written.
  bool write(net::Stream& stream, Slice bytes);
  // False: fewer bytes than the length.
  bool end(net::Stream& stream, const http::Fields* trailers);

  Coding coding() const { return coding_; }
  uint64_t written() const { return written_; }  // with the framing

 private:
  void write_chunk(net::Stream& stream, Slice bytes);

  uint64_t left_ = 0;  // with a length: still to come
  uint64_t written_ = 0;
  Coding coding_ = Coding::none;
};

}  // namespace pqedge::http1
