#include "measure/load/options.h"

#include "base/text.h"

namespace pqedge::measure::load {

std::string_view protocol_name(Protocol protocol) {
  switch (protocol) {
    case Protocol::kHttp1: return "h1";
    case Protocol::kHttp2: return "h2";
    case Protocol::kHttp3: return "h3";
  }
  return "?";
}

Result<void> set_url(Options& options, std::string_view url) {
  std::string_view rest = url;
  if (rest.starts_with("https://")) {
    options.tls = true;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    options.tls = false;
    rest.remove_prefix(7);
  } else {
    return fail("{}: a URL starts with https:// or http://", url);
  }
  const size_t slash = rest.find_first_of("/?");
  std::string_view authority = rest.substr(0, slash);
  std::string_view path = slash == std::string_view::npos ? "/" : rest.substr(slash);
  path = path.substr(0, path.find('#'));
  options.path = path.starts_with('/') ? std::string(path) : "/" + std::string(path);

  options.port = options.tls ? 443 : 80;
  const size_t colon = authority.rfind(':');
  if (colon != std::string_view::npos && authority.find(']', colon) == std::string_view::npos) {
    const std::optional<uint64_t> port = parse_decimal(authority.substr(colon + 1));
    if (!port || *port == 0 || *port > 65535) return fail("{}: not a port", url);
    options.port = static_cast<uint16_t>(*port);
    authority = authority.substr(0, colon);
  }
  if (authority.empty()) return fail("{}: no host", url);
  options.host = authority;
  return {};
}

Result<void> validate(const Options& options) {
  if (options.host.empty()) return fail("no URL");
  if (options.connections == 0) return fail("at least one connection is needed");
  if (options.streams == 0) return fail("at least one stream is needed");
  if (options.protocol == Protocol::kHttp1 && options.streams != 1) {
    return fail("HTTP/1.1 has one request in flight a connection: use --streams 1");
  }
  if (options.protocol != Protocol::kHttp1 && !options.tls) {
    return fail("http:// is for HTTP/1.1 only: use https://");
  }
  if (options.handshake_each && options.streams != 1) {
    return fail("--handshake-each sends one request a connection: use --streams 1");
  }
  if (options.resume && !options.handshake_each) {
    return fail("--resume needs --handshake-each");
  }
  if (options.resumption < 0 || options.resumption > 1) {
    return fail("the share of resumed handshakes is from 0 to 1");
  }
  if (options.certificate_file.empty() != options.key_file.empty()) {
    return fail("a client certificate and its key come together");
  }
  if (options.udp_payload < 1200 || options.udp_payload > 65000) {
    return fail("--udp-payload is from 1200 (RFC 9000 14.1) to 65000");
  }
  return {};
}

}  // namespace pqedge::measure::load
