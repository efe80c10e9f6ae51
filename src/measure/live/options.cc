#include "measure/live/options.h"

#include <array>

#include "base/text.h"

namespace pqedge::measure::live {

namespace {

struct StartTlsName {
  StartTls protocol;
  std::string_view name;
  uint16_t port;
};

constexpr std::array kStartTls{
    StartTlsName{StartTls::kSmtp, "smtp", 25},
    StartTlsName{StartTls::kImap, "imap", 143},
    StartTlsName{StartTls::kPop3, "pop3", 110},
    StartTlsName{StartTls::kLdap, "ldap", 389},
    StartTlsName{StartTls::kXmpp, "xmpp", 5222},
    StartTlsName{StartTls::kPostgres, "postgres", 5432},
};

}  // namespace

std::string_view transport_name(Transport transport) {
  switch (transport) {
    case Transport::kTls: return "tls";
    case Transport::kQuic: return "quic";
    case Transport::kSsh: return "ssh";
  }
  return "?";
}

uint16_t port_of(const Options& options) {
  if (options.port != 0) return options.port;
  for (const StartTlsName& known : kStartTls) {
    if (known.protocol == options.starttls) return known.port;
  }
  return options.transport == Transport::kSsh ? 22 : 443;
}

Result<StartTls> parse_starttls(std::string_view name) {
  for (const StartTlsName& known : kStartTls) {
    if (known.name == name) return known.protocol;
  }
  return fail("--starttls {}: smtp, imap, pop3, ldap, xmpp or postgres is meant", name);
}

Result<void> set_target(Options& options, std::string_view text) {
  std::string_view host = text;
  std::string_view port;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) return fail("{}: '[' without ']'", text);
    host = text.substr(1, end - 1);
    port = text.substr(end + 1);
    if (!port.empty() && !port.starts_with(':')) return fail("{}: HOST[:PORT] is meant", text);
    if (!port.empty()) port.remove_prefix(1);
    if (port.empty() && end + 1 != text.size()) return fail("{}: not a port", text);
  } else if (const size_t colon = text.find(':'); colon != text.npos && colon == text.rfind(':')) {
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
    if (port.empty()) return fail("{}: not a port", text);
  }  // more than one colon: a bare IPv6 address
  if (host.empty()) return fail("{}: no host", text);
  if (host.contains('/')) return fail("{}: HOST[:PORT] is meant, not a URL", text);
  if (!port.empty()) {
    const auto number = parse_decimal(port);
    if (!number || *number == 0 || *number > 65535) return fail("{}: not a port", text);
    options.port = static_cast<uint16_t>(*number);
  }
  options.host = host;
  return {};
}

Result<void> validate(const Options& options) {
  if (options.host.empty()) return fail("no host");
  if (options.transport != Transport::kTls && options.starttls != StartTls::kNone) {
    return fail("--starttls goes with TLS over TCP, not with --{}",
                transport_name(options.transport));
  }
  if (options.certificate.empty() != options.key.empty()) {
    return fail("--cert and --key come together");
  }
  if (options.transport == Transport::kSsh) {
    if (!options.certificate.empty()) {
      return fail("SSH proves the user after the key exchange: --cert has no place in it");
    }
    if (!options.sni.empty()) return fail("SSH knows no server name: --sni has no place in it");
    if (!options.alpn.empty()) return fail("SSH knows no ALPN");
    if (!options.sigalgs.empty()) return fail("--sigalgs is for TLS and QUIC");
  }
  return {};
}

}  // namespace pqedge::measure::live
