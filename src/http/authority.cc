// Authorities: the host, in one spelling, and the port.
#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/text.h"
#include "http/uri.h"

namespace pqedge::http {
namespace {

constexpr size_t kLongestName = 253;  // of a DNS name in text, without the trailing dot (RFC 1035)

enum : uint8_t { kName = 1, kUpper = 2 };

// Letters, digits, "-", ".", "_" and "~". RFC 3986 also lets percent-encoding and sub-delims stand
// in a reg-name; no DNS name has them (RFC 9110 4.2 hosts are DNS names or addresses), and a comma
// or a quote would speak in the lists that a host is written into (X-Forwarded-Host, Forwarded).
constexpr std::array<uint8_t, 256> make_host_classes() {
  std::array<uint8_t, 256> classes{};
  for (size_t c = '0'; c <= '9'; ++c) classes[c] = kName;
  for (size_t c = 'a'; c <= 'z'; ++c) classes[c] = kName;
  for (size_t c = 'A'; c <= 'Z'; ++c) classes[c] = kName | kUpper;
  for (char c : std::string_view("-._~")) classes[static_cast<size_t>(c)] = kName;
  return classes;
}
constexpr std::array<uint8_t, 256> kHostClasses = make_host_classes();

std::unexpected<Refusal> refuse_host(std::string_view reason) {
  return std::unexpected(Refusal{400, reason});
}

// An IPv6 literal, brackets included, in the spelling of RFC 5952.
std::expected<std::string_view, Refusal> ip_literal(std::string_view text, Arena& arena) {
  char address[INET6_ADDRSTRLEN];
  const std::string_view inside = text.substr(1, text.size() - 2);
  in6_addr parsed;
  if (inside.empty() || inside.size() >= sizeof address || inside.contains('\0')) {
    return refuse_host("malformed IPv6 address in the host");
  }
  std::memcpy(address, inside.data(), inside.size());
  address[inside.size()] = '\0';
  if (inet_pton(AF_INET6, address, &parsed) != 1 ||
      inet_ntop(AF_INET6, &parsed, address, sizeof address) == nullptr) {
    return refuse_host("malformed IPv6 address in the host");
  }
  const std::string_view canonical = address;
  if (inside == canonical) return text;
  return arena.concat("[", canonical, "]");
}

std::expected<std::string_view, Refusal> reg_name(std::string_view text, Arena& arena) {
  uint8_t all = kName;
  uint8_t any = 0;
  for (char c : text) {
    const uint8_t k = kHostClasses[static_cast<uint8_t>(c)];
    all &= k;
    any |= k;
  }
  if (all == 0) return refuse_host("byte that may not stand in a host name");
  if (text.ends_with('.')) text.remove_suffix(1);
  if (text.empty() || text.front() == '.' || text.back() == '.' || text.contains("..")) {
    return refuse_host("empty host, or an empty label in it");
  }
  if (text.size() > kLongestName) return refuse_host("host name too long");
  if ((any & kUpper) == 0) return text;
  char* const lower = static_cast<char*>(arena.allocate(text.size()));
  std::ranges::transform(text, lower, ascii_lower);
  return std::string_view(lower, text.size());
}

}  // namespace

std::expected<Authority, Refusal> parse_authority(std::string_view text, Arena& arena) {
  if (text.empty()) return refuse_host("no host");
  std::string_view host = text;
  std::string_view after;
  const bool literal = text.front() == '[';
  if (literal) {
    const size_t close = text.find(']');
    if (close == std::string_view::npos) return refuse_host("malformed IPv6 address in the host");
    host = text.substr(0, close + 1);
    after = text.substr(close + 1);
  } else if (const size_t colon = text.find(':'); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    after = text.substr(colon);
  }
  Authority authority;
  // "host:" is the same as "host" (RFC 3986 3.2.3).
  if (after.size() > 1) {
    const auto port = after.size() <= 6 ? parse_decimal(after.substr(1)) : std::nullopt;
    if (after.front() != ':' || !port || *port == 0 || *port > 65535) {
      return refuse_host("malformed port in the host");
    }
    authority.port = static_cast<uint16_t>(*port);
  } else if (!after.empty() && after != ":") {
    return refuse_host("malformed port in the host");
  }
  const auto name = literal ? ip_literal(host, arena) : reg_name(host, arena);
  if (!name) return std::unexpected(name.error());
  authority.host = *name;
  return authority;
}

}  // namespace pqedge::http
