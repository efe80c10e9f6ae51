// One strict parser for the heads of requests and responses and for trailer sections
// (RFC 9112 2 to 5). It reads bytes from memory and knows nothing of connections.
#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <string_view>

#include "http/fields.h"
#include "http/message.h"
#include "http/uri.h"

namespace pqedge::http1 {

enum class HeadKind : uint8_t { request, response, trailers };

struct HeadLimits {
  uint32_t max_target;  // bytes of the target, or of a status line
  uint32_t max_fields;
  uint32_t max_bytes;  // names and values of the section, 32 a field added
};

// Readable bytes that parse_fields() needs after its input: it looks at 16 at a time.
inline constexpr size_t kHeadPadding = 16;

// A copy of a complete head in the arena, with that padding.
std::string_view copy_head(std::string_view head, Arena& arena);

// Finds the end of a head in bytes that arrive in pieces, and refuses what can never become one:
// every byte is looked at once, whatever the pieces (a head that came in several a second time,
// when it is whole). After `done` each line ends in CRLF and holds no other control byte than HTAB.
class HeadScanner {
 public:
  enum class Status : uint8_t { need_more, done, error };
  struct Outcome {
    Status status;
    size_t size = 0;  // done: bytes of the head, its empty line included
    // done: where the CR of each line is, but for the empty one. Valid until the next scan of this
    // thread.
    std::span<const uint32_t> lines;
    http::Refusal refusal;  // error
  };

  explicit HeadScanner(HeadKind kind) : kind_(kind) {}
  void reset() { *this = HeadScanner(kind_); }

  // `so_far`: everything since the first byte of the head; what earlier calls saw is unchanged.
  Outcome scan(std::string_view so_far, const HeadLimits& limits);

  // Length of the start line without CRLF, 0 while it is incomplete.
  size_t start_line() const { return start_line_; }

 private:
  static Outcome error(uint16_t status, std::string_view reason);
  Outcome bad_byte(char c) const;
  Outcome found_end(std::string_view so_far, size_t size, bool from_start,
                    const HeadLimits& limits);
  Outcome too_long(std::string_view reason) const;
  Outcome check_partial(size_t size, const HeadLimits& limits) const;

  uint32_t scanned_ = 0;  // bytes before it were looked at
  uint32_t line_ = 0;     // where the line under way begins
  uint32_t lines_ = 0;    // complete lines, the start line included
  uint32_t start_line_ = 0;
  HeadKind kind_;
};

struct RequestLine {
  std::string_view method;
  std::string_view target;
  http::Version version = http::Version::http11;
};
// `line` without CRLF. The views are into it.
std::expected<RequestLine, http::Refusal> parse_request_line(std::string_view line,
                                                             uint32_t max_target);

struct StatusLine {
  http::Version version = http::Version::http11;
  uint16_t status = 0;
};
std::expected<StatusLine, http::Refusal> parse_status_line(std::string_view line);

// Appends the fields of a head that a HeadScanner has passed, with the lines that it found; a start
// line is passed over. Fields are views into `head`, which has kHeadPadding readable bytes after
// it.
std::expected<void, http::Refusal> parse_fields(std::string_view head,
                                                std::span<const uint32_t> lines, HeadKind kind,
                                                const HeadLimits& limits, http::Fields& fields);

}  // namespace pqedge::http1
