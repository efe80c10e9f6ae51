// Host and :authority.
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "http/uri.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  pqedge::Arena arena;
  const auto parsed = pqedge::http::parse_authority(text, arena);
  if (!parsed) {
    require(parsed.error().status == 400 && !parsed.error().reason.empty());
    return 0;
  }
  const std::string_view host = parsed->host;
  require(!host.empty() && host.size() <= 253 && !host.ends_with('.'));
  for (char c : host) {
    const auto u = static_cast<unsigned char>(c);
    require(u < 0x80 && !std::isupper(u) &&
            (std::isalnum(u) || std::string_view("-._~[]:").contains(c)));
  }
  require(host.contains(':') == host.starts_with('['));
  require(host.contains(']') == host.ends_with(']'));
  // Written anew it is read the same.
  std::string anew(host);
  if (parsed->port != 0) anew += ":" + std::to_string(parsed->port);
  const auto again = pqedge::http::parse_authority(anew, arena);
  require(again.has_value() && again->host == host && again->port == parsed->port);
  return 0;
}
