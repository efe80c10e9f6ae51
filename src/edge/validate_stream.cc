#include "edge/validate_stream.h"

#include <algorithm>
#include <format>
#include <string_view>

namespace pqedge::edge {
namespace {

void check_pool(const Settings& s, const ListenerSettings& l, const std::string& base,
                Problems& out) {
  const std::string key = base + ".pool";
  const auto pool = std::ranges::find(s.pools, l.stream.pool, &upstream::PoolSettings::name);
  if (pool == s.pools.end()) {
    std::vector<std::string_view> names;
    for (const auto& each : s.pools) names.push_back(each.name);
    std::string hint = did_you_mean(l.stream.pool, names);
    if (hint.empty()) hint = "write a [[pool]] with name = " + in_quotes(l.stream.pool);
    out.push_back({key, "there is no pool " + in_quotes(l.stream.pool), hint});
    return;
  }
  if (!l.udp) return;
  for (const auto& server : pool->servers) {
    if (server.address.is_ip()) continue;
    out.push_back({key,
                   std::format("{} of pool {} cannot be reached over UDP", in_quotes(server.name),
                               in_quotes(pool->name)),
                   "take \"udp\" out of protocols, or name a pool of its own"});
    break;
  }
  if (pool->send_proxy == 1) {
    out.push_back({key, "PROXY version 1 has no form for UDP, and the pool asks for it",
                   "write send_proxy = \"v2\" in the pool"});
  }
  if (pool->tls && !l.tcp) {
    out.push_back({key, "has tls = true, which has no effect over UDP", "name another pool"});
  }
}

void check_stream(const Settings& s, const ListenerSettings& l, const std::string& base,
                  Problems& out) {
  if (l.stream.pool.empty()) {
    if (l.tcp || l.udp) {
      out.push_back({base + ".protocols",
                     std::format("has {}, and no pool is named", l.tcp ? "\"tcp\"" : "\"udp\""),
                     "add pool = \"NAME\": what comes goes to its servers"});
    }
    return;
  }
  if (l.http1 || l.http2 || l.http3) {
    out.push_back({base + ".protocols", "has HTTP beside pool",
                   "a listener with pool takes \"tcp\" and \"udp\"; HTTP goes by [[route]]"});
  }
  if (l.redirect_to_https) {
    out.push_back({base + ".redirect_to_https", "has no place on a listener with pool"});
  }
  if (l.tls && !l.tcp) {
    out.push_back({base + ".tls", "has no effect without \"tcp\" in protocols"});
  }
  if (l.udp) {
    for (size_t a = 0; a < l.addresses.size(); ++a) {
      if (!l.addresses[a].is_unix()) continue;
      out.push_back({entry_key(base + ".address", a), "a Unix socket cannot carry UDP"});
    }
  }
  check_pool(s, l, base, out);
  check_duration(out, base + ".idle_timeout", l.stream.idle_timeout, kSecond, 7 * kDay);
  check_duration(out, base + ".udp_timeout", l.stream.udp_timeout, kSecond / 10, kDay);
  check_count(out, base + ".udp_sessions", l.stream.udp_sessions, 1, 1'000'000);
}

}  // namespace

Problems validate_streams(const Settings& settings) {
  Problems out;
  for (size_t i = 0; i < settings.listeners.size(); ++i) {
    check_stream(settings, settings.listeners[i], entry_key("listener", i), out);
  }
  return out;
}

}  // namespace pqedge::edge
