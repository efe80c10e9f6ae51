#include "probe/options.h"

#include <arpa/inet.h>

#include <array>

#include "base/text.h"

namespace pqedge::probe {
namespace {

Result<uint16_t> parse_port(std::string_view text, std::string_view whole) {
  const auto number = parse_decimal(text);
  if (!number || *number == 0 || *number > 65535) return fail("{}: not a port", whole);
  return static_cast<uint16_t>(*number);
}

}  // namespace

Result<void> set_target(Options& options, std::string_view text) {
  if (text.contains('/')) return fail("{}: HOST[:PORT] is meant, not a URL", text);
  std::string_view host = text;
  std::string_view port;
  bool has_port = false;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == text.npos) return fail("{}: '[' without ']'", text);
    host = text.substr(1, end - 1);
    const std::string_view rest = text.substr(end + 1);
    if (!rest.empty() && !rest.starts_with(':')) return fail("{}: HOST[:PORT] is meant", text);
    has_port = !rest.empty();
    if (has_port) port = rest.substr(1);
  } else if (const size_t colon = text.find(':'); colon != text.npos && colon == text.rfind(':')) {
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
    has_port = true;
  }  // more than one colon: a bare IPv6 address
  if (host.empty()) return fail("{}: no host", text);
  if (has_port) {
    const auto number = parse_port(port, text);
    if (!number) return std::unexpected(number.error());
    options.port = *number;
  }
  options.host = host;
  return {};
}

Result<StartTls> parse_starttls(std::string_view name) {
  if (name == "smtp") return StartTls::smtp;
  if (name == "imap") return StartTls::imap;
  return fail("--starttls {}: smtp or imap is meant", name);
}

uint16_t port_of(const Options& options) {
  if (options.port != 0) return options.port;
  switch (options.starttls) {
    case StartTls::smtp: return 25;
    case StartTls::imap: return 143;
    case StartTls::none: break;
  }
  return 443;
}

bool is_address(const std::string& host) {
  std::array<unsigned char, 16> ip;
  return inet_pton(AF_INET, host.c_str(), ip.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), ip.data()) == 1;
}

std::string server_name(const Options& options) {
  if (!options.sni.empty()) return options.sni;
  return is_address(options.host) ? std::string() : options.host;
}

}  // namespace pqedge::probe
