// Paths. Whatever is decided about a request is decided on one canonical path; see authority.cc for
// the host.
#include "http/uri.h"

#include <array>
#include <cstring>

#include "base/text.h"

namespace pqedge::http {
namespace {

enum : uint8_t {
  kPathPlain = 1,  // stands in a canonical path as it is: pchar without "%", and "/" (RFC 3986 3.3)
  kPathRaw = 2,    // taken raw, as clients send it, and percent-encoded in the canonical path
  kQuery = 4       // taken in a query
};

constexpr std::array<uint8_t, 256> make_uri_classes() {
  std::array<uint8_t, 256> classes{};
  const auto mark = [&](std::string_view set, uint8_t c) {
    for (char x : set) classes[static_cast<uint8_t>(x)] |= c;
  };
  // Browsers leave some of these raw, and bytes of UTF-8 reach servers raw. A space, a control byte
  // and "#" (a fragment is never sent, RFC 9112 3.2) have no place in a target.
  for (size_t c = 0x80; c < 0x100; ++c) classes[c] = kPathRaw | kQuery;
  mark("\"<>[\\]^`{|}", kPathRaw | kQuery);
  constexpr std::string_view kUnreserved = "-._~";
  for (char c = '0'; c <= '9'; ++c) mark({&c, 1}, kPathPlain | kQuery);
  for (char c = 'a'; c <= 'z'; ++c) mark({&c, 1}, kPathPlain | kQuery);
  for (char c = 'A'; c <= 'Z'; ++c) mark({&c, 1}, kPathPlain | kQuery);
  mark(kUnreserved, kPathPlain | kQuery);
  mark("!$&'()*+,;=", kPathPlain | kQuery);  // sub-delims
  mark(":@/", kPathPlain | kQuery);
  mark("?%", kQuery);
  return classes;
}
constexpr std::array<uint8_t, 256> kUriClasses = make_uri_classes();

uint8_t uri_class(char c) { return kUriClasses[static_cast<uint8_t>(c)]; }
bool is_control(uint8_t b) { return b < 0x20 || b == 0x7f; }

std::unexpected<Refusal> refuse_target(std::string_view reason) {
  return std::unexpected(Refusal{400, reason});
}

// Whether `raw` is its own canonical form and holds no dot segment. Says no when in doubt.
bool is_canonical(std::string_view raw) {
  char previous = 0;
  for (char c : raw) {
    if (!(uri_class(c) & kPathPlain)) return false;
    if (previous == '/' && (c == '/' || c == '.')) return false;
    previous = c;
  }
  return true;
}

// Decodes percent-encoding until none is left, in one pass: each byte that completes a triplet
// takes its place, and may complete another. The result is at most as long as `raw`.
size_t decode_fully(std::string_view raw, char* out) {
  size_t n = 0;
  for (char c : raw) {
    out[n++] = c;
    while (n >= 3) {
      const int byte = percent_byte({out + n - 3, 3});
      if (byte < 0) break;
      n -= 3;
      out[n++] = static_cast<char>(byte);
    }
  }
  return n;
}

// Overlong UTF-8 of an ASCII character (never well-formed), which lax decoders take for it.
// Returns its length and sets `c`, or 0.
size_t overlong_ascii(const char* s, size_t size, char& c) {
  const auto b = [&](size_t i) { return i < size ? static_cast<uint8_t>(s[i]) : uint8_t{0}; };
  const auto continues = [](uint8_t x) { return (x & 0xc0) == 0x80; };
  if ((b(0) == 0xc0 || b(0) == 0xc1) && continues(b(1))) {
    c = static_cast<char>((b(0) & 1) << 6 | (b(1) & 0x3f));
    return 2;
  }
  if (b(0) == 0xe0 && (b(1) == 0x80 || b(1) == 0x81) && continues(b(2))) {
    c = static_cast<char>((b(1) & 1) << 6 | (b(2) & 0x3f));
    return 3;
  }
  return 0;
}

size_t fold_overlong(char* text, size_t size) {
  size_t n = 0;
  for (size_t i = 0; i < size;) {
    char c = text[i];
    const size_t length = overlong_ascii(text + i, size - i, c);
    text[n++] = c;
    i += length == 0 ? 1 : length;
  }
  return n;
}

// A piece between separators that some backend could take for "." or "..": with parameters (";x"),
// cut at a NUL, or with blanks at its end.
bool is_dot_piece(std::string_view piece) {
  if (piece.empty() || piece.front() != '.') return false;
  piece = piece.substr(0, piece.find_first_of(std::string_view(";\0", 2)));
  while (!piece.empty() && static_cast<uint8_t>(piece.back()) <= 0x20) piece.remove_suffix(1);
  return piece == "." || piece == "..";
}

// `scratch` has room for the path.
bool has_dot_segment(std::string_view raw, char* scratch) {
  const size_t size = fold_overlong(scratch, decode_fully(raw, scratch));
  std::string_view rest(scratch, size);
  for (;;) {
    const size_t end = rest.find_first_of("/\\");
    if (is_dot_piece(rest.substr(0, end))) return true;
    if (end == std::string_view::npos) return false;
    rest.remove_prefix(end + 1);
  }
}

void put_encoded(char*& out, uint8_t byte) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  *out++ = '%';
  *out++ = kDigits[byte >> 4];
  *out++ = kDigits[byte & 15];
}

// Writes the canonical form, at most three times as long; null for what may not stand in a path.
std::expected<size_t, Refusal> write_canonical(std::string_view raw, char* const begin) {
  char* out = begin;
  for (size_t i = 0; i < raw.size(); ++i) {
    const char c = raw[i];
    if (c == '%') {
      const int byte = percent_byte(raw.substr(i));
      if (byte < 0) return refuse_target("malformed percent-encoding in the path");
      if (is_control(static_cast<uint8_t>(byte))) return refuse_target("control byte in the path");
      const auto decoded = static_cast<char>(byte);
      // "%2F" is no separator: it stays what it is.
      if ((uri_class(decoded) & kPathPlain) && decoded != '/') {
        *out++ = decoded;
      } else {
        put_encoded(out, static_cast<uint8_t>(byte));
      }
      i += 2;
    } else if (uri_class(c) & kPathPlain) {
      if (c == '/' && out != begin && out[-1] == '/') continue;
      *out++ = c;
    } else if (uri_class(c) & kPathRaw) {
      put_encoded(out, static_cast<uint8_t>(c));
    } else {
      return refuse_target("byte that may not stand in a path");
    }
  }
  return static_cast<size_t>(out - begin);
}

bool is_query(std::string_view query) {
  uint8_t all = kQuery;
  for (char c : query) all &= uri_class(c);
  return all != 0;
}

}  // namespace

std::expected<std::string_view, Refusal> canonical_path(std::string_view raw, Arena& arena) {
  if (!raw.starts_with('/')) return refuse_target("path that does not begin with \"/\"");
  if (is_canonical(raw)) [[likely]]
    return raw;
  char* const text = static_cast<char*>(arena.allocate(raw.size() * 3));
  if (has_dot_segment(raw, text)) return refuse_target("dot segment in the path");
  const auto size = write_canonical(raw, text);
  if (!size) return std::unexpected(size.error());
  return std::string_view(text, *size);
}

std::string_view raw_behind(std::string_view raw, size_t size) {
  size_t at = 0;
  bool after_slash = false;
  for (size_t canonical = 0; at < raw.size() && canonical < size;) {
    const char c = raw[at];
    if (c == '%') {
      const int byte = percent_byte(raw.substr(at));
      const bool decoded =
          byte >= 0 && byte != '/' && (uri_class(static_cast<char>(byte)) & kPathPlain);
      canonical += decoded ? 1 : 3;
      at += byte < 0 ? 1 : 3;
      after_slash = false;
    } else if (c == '/' && after_slash) {
      ++at;  // merged
    } else {
      canonical += uri_class(c) & kPathPlain ? 1 : 3;
      ++at;
      after_slash = c == '/';
    }
  }
  return raw.substr(at);
}

std::expected<void, Refusal> canonicalise(Request& request) {
  // HTTP/1.0 knows requests without a host.
  if (!request.authority.empty() || request.version != Version::http10) {
    const auto authority = parse_authority(request.authority, *request.arena);
    if (!authority) return std::unexpected(authority.error());
    request.host = authority->host;
    request.port = authority->port;
  }
  request.path = {};
  request.query = {};
  if (request.method == Method::connect) return {};
  if (request.target == "*") {
    if (request.method != Method::options)
      return refuse_target("\"*\" with a method other than OPTIONS");
    request.path = request.target;
    return {};
  }
  const size_t mark = request.target.find('?');
  if (mark != std::string_view::npos) {
    request.query = request.target.substr(mark + 1);
    if (!is_query(request.query)) return refuse_target("byte that may not stand in a query");
  }
  const auto path = canonical_path(request.target.substr(0, mark), *request.arena);
  if (!path) return std::unexpected(path.error());
  request.path = *path;
  return {};
}

}  // namespace pqedge::http
