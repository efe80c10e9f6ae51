#include "wire/http1/head_parser.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "base/text.h"
#include "http/names.h"
#include "wire/http1/scan.h"

namespace pqedge::http1 {
namespace {

using http::Refusal;

// Around a target: method, two spaces, "HTTP/1.1". Around a reason phrase less.
constexpr size_t kStartLineRest = 64;

std::unexpected<Refusal> refuse_head(uint16_t status, std::string_view reason) {
  return std::unexpected(Refusal{status, reason});
}

bool is_blank(char c) { return c == ' ' || c == '\t'; }

}  // namespace

std::string_view copy_head(std::string_view head, Arena& arena) {
  char* const p = static_cast<char*>(arena.allocate(head.size() + kHeadPadding));
  std::memcpy(p, head.data(), head.size());
  std::memset(p + head.size(), 0, kHeadPadding);
  return {p, head.size()};
}

// ---- the end of the head ------------------------------------------------------------------------
namespace {

// Where this thread's latest scan found lines to end: room for n of them.
uint32_t* line_table(size_t n) {
  constinit thread_local std::unique_ptr<uint32_t[]> table;
  constinit thread_local size_t capacity = 0;
  if (capacity < n) [[unlikely]] {
    table = std::make_unique_for_overwrite<uint32_t[]>(n);
    capacity = n;
  }
  return table.get();
}

}  // namespace

HeadScanner::Outcome HeadScanner::error(uint16_t status, std::string_view reason) {
  return {Status::error, 0, {}, {status, reason}};
}

HeadScanner::Outcome HeadScanner::too_long(std::string_view reason) const {
  return error(kind_ == HeadKind::response ? 502 : 431, reason);
}

HeadScanner::Outcome HeadScanner::scan(std::string_view so_far, const HeadLimits& limits) {
  const char* const base = so_far.data();
  // A CR at the end is looked at together with what follows it.
  const size_t size = so_far.size() - (so_far.ends_with('\r') ? 1 : 0);
  const bool from_start = scanned_ == 0;
  const size_t most = limits.max_fields + size_t{kind_ != HeadKind::trailers};
  uint32_t* const table = line_table(most + 1);
  size_t line = line_;
  size_t lines = lines_;
  const auto keep = [&](size_t scanned) {
    if (lines_ == 0 && lines > 0 && kind_ != HeadKind::trailers) start_line_ = table[0];
    scanned_ = static_cast<uint32_t>(scanned);
    line_ = static_cast<uint32_t>(line);
    lines_ = static_cast<uint32_t>(lines);
  };
  size_t at = scanned_;
  while (at < size) {
    const size_t width = std::min(size - at, kWideBlock);
    uint64_t mask = width == kWideBlock ? wide_control_mask(base + at)
                                        : short_wide_control_mask(base + at, width);
    const size_t next = at + width;
    while (mask != 0) {
      const size_t cr = at + static_cast<size_t>(std::countr_zero(mask));
      mask &= mask - 1;
      if (base[cr] != '\r' || base[cr + 1] != '\n') [[unlikely]] {
        if (base[cr] == '\t') continue;
        keep(cr);
        return bad_byte(base[cr]);
      }
      mask &= mask - 1;  // the LF, if it is in this block
      if (cr == line) {
        keep(cr);
        return found_end(so_far, cr + 2, from_start, limits);
      }
      if (lines == most) {
        keep(cr);
        return too_long("too many fields");
      }
      table[lines++] = static_cast<uint32_t>(cr);
      line = cr + 2;
    }
    at = std::max(next, line);
  }
  keep(at);
  return check_partial(so_far.size(), limits);
}

// RFC 9112 2.2.
HeadScanner::Outcome HeadScanner::bad_byte(char c) const {
  if (c == '\n') return error(400, "line ends in a bare LF");
  if (c == '\r') return error(400, "bare CR in the head");
  return error(400, c == '\0' ? "NUL in the head" : "control byte in the head");
}

HeadScanner::Outcome HeadScanner::found_end(std::string_view so_far, size_t size, bool from_start,
                                            const HeadLimits& limits) {
  if (lines_ == 0 && kind_ != HeadKind::trailers) return error(400, "empty start line");
  // Other scans of this thread had the table meanwhile.
  if (!from_start) return HeadScanner(kind_).scan(so_far.substr(0, size), limits);
  return {Status::done, size, {line_table(0), lines_}, {}};
}

// Limits hold while the head is incomplete, so that it need never be kept whole to be refused.
HeadScanner::Outcome HeadScanner::check_partial(size_t size, const HeadLimits& limits) const {
  if (kind_ != HeadKind::trailers && start_line_ == 0) {
    if (size > uint64_t{limits.max_target} + kStartLineRest) {
      if (kind_ == HeadKind::request) return error(414, "request line too long");
      return too_long("status line too long");
    }
    return {Status::need_more, 0, {}, {}};
  }
  // A field line is its name and value, four bytes or more around them, and counts 32 more.
  const uint64_t section = size - start_line_;
  if (section > uint64_t{limits.max_bytes} + 2 * kStartLineRest) return too_long("head too large");
  return {Status::need_more, 0, {}, {}};
}

// ---- start lines --------------------------------------------------------------------------------
namespace {

// "HTTP/" DIGIT "." DIGIT (RFC 9112 2.3). A higher minor version is read as 1.1 (RFC 9110 2.5).
std::expected<http::Version, Refusal> parse_version(std::string_view text) {
  if (text.size() != 8 || !text.starts_with("HTTP/") || !is_digit(text[5]) || text[6] != '.' ||
      !is_digit(text[7])) {
    return refuse_head(400, "malformed HTTP version");
  }
  if (text[5] != '1') return refuse_head(505, "HTTP version not supported");
  return text[7] == '0' ? http::Version::http10 : http::Version::http11;
}

// Index of the first byte that may not stand in a target, or the size.
size_t target_length(std::string_view s) {
  size_t i = 0;
  for (; i < s.size(); i += kBlock) {
    const size_t left = s.size() - i;
    const uint32_t mask = left >= kBlock ? not_target_mask(s.data() + i)
                                         : short_mask(s.data() + i, left, not_target_mask);
    if (mask != 0) return i + static_cast<size_t>(std::countr_zero(mask));
  }
  return s.size();
}

}  // namespace

std::expected<RequestLine, Refusal> parse_request_line(std::string_view line, uint32_t max_target) {
  RequestLine out;
  const size_t space = line.find(' ');
  out.method = line.substr(0, space);
  if (!http::is_token(out.method)) return refuse_head(400, "malformed method");
  if (space == std::string_view::npos) return refuse_head(400, "request line without a target");
  std::string_view rest = line.substr(space + 1);
  const size_t n = target_length(rest);
  out.target = rest.substr(0, n);
  // Exactly one space on each side (RFC 9112 3): others have been read in more than one way.
  if (n == 0) return refuse_head(400, "request line without a target");
  if (n > max_target) return refuse_head(414, "request target too long");
  if (n == rest.size()) return refuse_head(400, "request line without a version");  // HTTP/0.9
  if (rest[n] != ' ') return refuse_head(400, "invalid byte in the request target");
  const auto version = parse_version(rest.substr(n + 1));
  if (!version) return std::unexpected(version.error());
  out.version = *version;
  return out;
}

std::expected<StatusLine, Refusal> parse_status_line(std::string_view line) {
  // status-line = HTTP-version SP status-code SP [ reason-phrase ] (RFC 9112 4). Many senders leave
  // out the second space with the reason.
  const auto version = parse_version(line.substr(0, 8));
  if (!version) {
    return refuse_head(
        502, version.error().status == 505 ? version.error().reason : "malformed status line");
  }
  if (line.size() < 12 || line[8] != ' ' || (line.size() > 12 && line[12] != ' ')) {
    return refuse_head(502, "malformed status line");
  }
  uint16_t status = 0;
  for (const char c : line.substr(9, 3)) {
    if (!is_digit(c)) return refuse_head(502, "malformed status code");
    status = static_cast<uint16_t>(status * 10 + (c - '0'));
  }
  if (status < 100) return refuse_head(502, "malformed status code");
  return StatusLine{*version, status};
}

// ---- field lines --------------------------------------------------------------------------------
namespace {

// Why `name` is not one; the reasons are those that matter in the log.
Refusal bad_name(std::string_view name, uint16_t status) {
  if (name.empty()) return {status, "field without a name"};
  if (is_blank(name.front())) return {status, "folded field line"};
  if (is_blank(name.back())) return {status, "space before the colon"};
  return {status, "invalid byte in a field name"};
}

// The text in [p, end) without the spaces and tabs around it (RFC 9112 5.1). At `end` stands the CR
// of the line, or its colon.
inline std::string_view trimmed(const char* p, const char* end) {
  while (is_blank(*p)) ++p;
  if (p >= end) return {end, 0};
  while (is_blank(end[-1])) --end;
  return {p, static_cast<size_t>(end - p)};
}

// Whether the n bytes at p, with padding after them, are a token.
bool is_name(const char* p, size_t n) {
  if (n - 1 < kBlock) {
    const uint32_t mask = unusual_name_mask(p) & ((2u << (n - 1)) - 1);
    if (mask == 0) [[likely]]
      return true;
  }
  return http::is_token({p, n});
}

// The colon of a line, or `end`.
inline const char* find_colon(const char* p, const char* end) {
  for (; p < end; p += kBlock) {
    if (const uint32_t mask = equal_mask(p, ':'); mask != 0) {
      return std::min(p + std::countr_zero(mask), end);
    }
  }
  return end;
}

}  // namespace

std::expected<void, Refusal> parse_fields(std::string_view head, std::span<const uint32_t> lines,
                                          HeadKind kind, const HeadLimits& limits,
                                          http::Fields& fields) {
  const bool response = kind == HeadKind::response;
  const uint16_t bad = response ? 502 : 400;
  const char* p = head.data();
  if (kind != HeadKind::trailers) {
    p += lines.front() + 2;
    lines = lines.subspan(1);
  }
  size_t size = 32 * lines.size();
  for (const uint32_t line_end : lines) {
    const char* const end = head.data() + line_end;
    const char* const colon = find_colon(p, end);
    if (colon == end) [[unlikely]] {
      return refuse_head(bad, is_blank(*p) ? "folded field line" : "field line without a colon");
    }
    std::string_view name(p, static_cast<size_t>(colon - p));
    if (response && is_blank(colon[-1]) && !is_blank(*p)) [[unlikely]] {
      name = trimmed(p, colon);  // RFC 9112 5.1: refused in a request, removed from a response
    }
    const std::string_view value = trimmed(colon + 1, end);
    const http::Name id = http::known_name(name);
    if (id == http::Name::other && !is_name(name.data(), name.size())) [[unlikely]] {
      return std::unexpected(bad_name(name, bad));
    }
    size += name.size() + value.size();
    fields.push({name, value, id});
    p = end + 2;
  }
  if (size > limits.max_bytes) return refuse_head(response ? 502 : 431, "head too large");
  return {};
}

}  // namespace pqedge::http1
