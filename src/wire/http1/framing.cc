#include "wire/http1/framing.h"

#include "base/text.h"
#include "http/names.h"

namespace pqedge::http1 {
namespace {

using http::Name;
using http::Refusal;
using http::Version;

std::unexpected<Refusal> refuse(uint16_t status, std::string_view reason) {
  return std::unexpected(Refusal{status, reason});
}

// The fields that decide, found in one pass.
struct Deciding {
  std::string_view length;
  std::string_view coding;
  uint32_t lengths = 0;
  uint32_t codings = 0;
  bool close = false;
  bool keep_alive = false;
};

Deciding find_deciding(const http::Fields& fields) {
  Deciding found;
  for (const http::Field& f : fields.raw()) {
    switch (f.id) {
      case Name::content_length:
        found.length = f.value;
        ++found.lengths;
        break;
      case Name::transfer_encoding:
        found.coding = f.value;
        ++found.codings;
        break;
      case Name::connection:
        for_each_member(f.value, [&](std::string_view option) {
          if (iequals(option, "close")) found.close = true;
          if (iequals(option, "keep-alive")) found.keep_alive = true;
        });
        break;
      default: break;
    }
  }
  return found;
}

// RFC 9112 9.3.
bool persists(const Deciding& found, Version version) {
  if (found.close) return false;
  return version != Version::http10 || found.keep_alive;
}

// A Transfer-Encoding that is not exactly "chunked". Where chunked comes last after codings of
// another name we could only decode what we do not know: 501 (RFC 9112 6.1). All else is no framing
// at all: 400 (RFC 9112 6.3).
Refusal refuse_coding(std::string_view value) {
  const size_t comma = value.rfind(',');
  if (comma == std::string_view::npos || !iequals(trim_ows(value.substr(comma + 1)), "chunked")) {
    return {400, "Transfer-Encoding is not chunked"};
  }
  bool sound = true;
  std::string_view rest = value.substr(0, comma);
  for (bool more = true; more;) {
    const size_t next = rest.find(',');
    more = next != std::string_view::npos;
    const std::string_view name = trim_ows(rest.substr(0, next));
    sound = sound && http::is_token(name) && !iequals(name, "chunked");
    rest.remove_prefix(more ? next + 1 : rest.size());
  }
  if (!sound) return {400, "malformed Transfer-Encoding"};
  return {501, "transfer coding not supported"};
}

// Content-Length and Transfer-Encoding to one framing, the same for both directions.
std::expected<Framing, Refusal> read_framing(const Deciding& found, Version version) {
  Framing framing;
  framing.keep_alive = persists(found, version);
  if (found.codings > 0) {
    // RFC 9112 6.1 would let a server read such a message by Transfer-Encoding and then close. Who
    // is in front of us or behind may read it otherwise: refused.
    if (found.lengths > 0) return refuse(400, "Content-Length with Transfer-Encoding");
    if (found.codings > 1) return refuse(400, "two Transfer-Encoding fields");
    if (version == Version::http10) return refuse(400, "Transfer-Encoding in HTTP/1.0");
    if (!iequals(found.coding, "chunked")) return std::unexpected(refuse_coding(found.coding));
    framing.coding = Coding::chunked;
    return framing;
  }
  if (found.lengths == 0) return framing;
  if (found.lengths > 1) return refuse(400, "two Content-Length fields");
  const auto length = parse_decimal(found.length);  // digits alone: no sign, space or list
  if (!length) return refuse(400, "invalid Content-Length");
  framing.length = *length;
  framing.has_length = true;
  if (*length > 0) framing.coding = Coding::length;
  return framing;
}

}  // namespace

std::expected<Framing, Refusal> request_framing(const http::Request& request) {
  return read_framing(find_deciding(request.fields), request.version);
}

std::expected<Framing, Refusal> response_framing(const http::Response& response,
                                                 http::Method method) {
  const Deciding found = find_deciding(response.fields);
  auto framing = read_framing(found, response.version);
  if (!framing) return refuse(502, framing.error().reason);
  if (!http::response_has_body(method, response.status)) {
    framing->coding = Coding::none;
  } else if (framing->coding == Coding::none && !framing->has_length) {
    framing->coding = Coding::until_close;  // RFC 9112 6.3, rule 8
    framing->keep_alive = false;
  }
  return framing;
}

}  // namespace pqedge::http1
