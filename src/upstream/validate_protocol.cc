#include "upstream/validate_protocol.h"

#include <string_view>

namespace pqedge::upstream {
namespace {

std::string_view name_of(Protocol protocol) {
  switch (protocol) {
    case Protocol::http1: return "http/1.1";
    case Protocol::h2: return "h2";
    case Protocol::h2c: return "h2c";
    case Protocol::h3: return "h3";
    case Protocol::automatic: return "auto";
  }
  return {};
}

// What there is over TCP only.
void check_http3(const PoolSettings& pool, const std::string& base, Problems& out) {
  for (size_t i = 0; i < pool.servers.size(); ++i) {
    if (!pool.servers[i].address.is_unix()) continue;
    out.push_back({entry_key(base + ".servers", i), "is a Unix socket, and HTTP/3 goes over UDP",
                   "write the address and port of the server", base + ".protocol"});
  }
  if (pool.send_proxy != 0) {
    out.push_back({base + ".send_proxy", "has no place before HTTP/3",
                   "leave it out: X-Forwarded-For and Forwarded name the client",
                   base + ".protocol"});
  }
}

}  // namespace

void check_protocol(const PoolSettings& pool, const std::string& base, Problems& out) {
  const bool needs_tls = pool.protocol == Protocol::h2 || pool.protocol == Protocol::h3 ||
                         pool.protocol == Protocol::automatic;
  if (needs_tls && !pool.tls) {
    out.push_back(
        {base + ".protocol",
         in_quotes(name_of(pool.protocol)) + " is spoken over TLS, which the pool is without",
         "set tls = true, or protocol = \"h2c\" for HTTP/2 without TLS"});
  }
  if (pool.protocol == Protocol::h2c && pool.tls) {
    out.push_back({base + ".protocol", "\"h2c\" is HTTP/2 without TLS, and tls is true",
                   "write protocol = \"h2\"", base + ".tls"});
  }
  if (pool.protocol == Protocol::h3) check_http3(pool, base, out);
  check_count(out, base + ".max_streams", pool.max_streams, 1, 10'000);
  check_count(out, base + ".max_connection_requests", pool.max_connection_requests, 0,
              1'000'000'000);
  if (pool.max_connection_age != 0) {
    check_duration(out, base + ".max_connection_age", pool.max_connection_age, kMillisecond,
                   30 * kDay);
  }
}

}  // namespace pqedge::upstream
