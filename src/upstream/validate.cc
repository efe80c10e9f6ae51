#include "upstream/validate.h"

#include <algorithm>
#include <map>

#include "crypto/backend_tls.h"
#include "upstream/validate_balance.h"
#include "upstream/validate_protocol.h"
#include "upstream/validate_standing.h"

namespace pqedge::upstream {
namespace {

void check_servers(const PoolSettings& pool, size_t i, Problems& out) {
  const std::string key = entry_key("pool", i, "servers");
  if (pool.servers.empty() && pool.discovery.kind == DiscoverySettings::Kind::off) {
    out.push_back({key, "has no server", "write servers = [\"127.0.0.1:9000\"]"});
  }
  for (size_t s = 0; s < pool.servers.size(); ++s) {
    const net::Address& address = pool.servers[s].address;
    const std::string server_key = entry_key(key, s);
    if (address.is_ip() && address.port() == 0) {
      out.push_back({server_key, "port 0 cannot be connected to"});
    } else if (address.is_ip() && address.is_any()) {
      out.push_back({server_key, address.ip() + " names no machine",
                     "write the address of the server, 127.0.0.1 for this machine"});
    }
    for (size_t earlier = 0; earlier < s; ++earlier) {
      if (pool.servers[earlier].address == address) {
        out.push_back({server_key, in_quotes(pool.servers[s].name) + " is there twice", "",
                       entry_key(key, earlier)});
        break;
      }
    }
  }
}

void check_tls(const PoolSettings& pool, const std::string& base, Problems& out) {
  for (Problem& p : crypto::validate(pool.tls_settings)) {
    p.key = base + "." + p.key;
    if (!p.related.empty()) p.related = base + "." + p.related;
    out.push_back(std::move(p));
  }
  const crypto::BackendTlsSettings& tls = pool.tls_settings;
  if (!tls.verify) {
    out.push_back({base + ".tls_verify", "is false: whoever takes the servers' place is trusted",
                   "name their authority with tls_ca", "", true});
  }
  const bool named = !tls.server_name.empty() || !tls.verify_name.empty();
  const bool has_unix = std::ranges::any_of(
      pool.servers, [](const ServerSettings& s) { return s.address.is_unix(); });
  if (tls.verify && !named && has_unix) {
    out.push_back({base + ".tls_server_name",
                   "is missing: a Unix socket has no name that its certificate could be held to",
                   "name the host that is in the server's certificate"});
  }
}

}  // namespace

Problems validate(const std::vector<PoolSettings>& pools) {
  Problems out;
  std::map<std::string_view, size_t> names;
  for (size_t i = 0; i < pools.size(); ++i) {
    const PoolSettings& pool = pools[i];
    const std::string base = entry_key("pool", i);
    check_label(out, base + ".name", pool.name);
    const auto [it, added] = names.try_emplace(pool.name, i);
    if (!added && !pool.name.empty()) {
      out.push_back({base + ".name", in_quotes(pool.name) + " is the name of another pool", "",
                     entry_key("pool", it->second)});
    }
    check_servers(pool, i, out);
    check_balance(pool, base, out);
    check_protocol(pool, base, out);
    check_duration(out, base + ".connect_timeout", pool.connect_timeout, kMillisecond, kDay);
    check_duration(out, base + ".response_timeout", pool.response_timeout, kMillisecond, kDay);
    check_duration(out, base + ".read_timeout", pool.read_timeout, kMillisecond, kDay);
    check_duration(out, base + ".idle_timeout", pool.idle_timeout, kMillisecond, kDay);
    check_count(out, base + ".max_idle", pool.max_idle, 0, 1'000'000);
    check_count(out, base + ".max_connections", pool.max_connections, 0, 1'000'000);
    check_count(out, base + ".retries", pool.retries, 0, http::kMaxRetries);
    http::check_retry(pool.retry, base, out);
    check_count(out, base + ".retry_budget", pool.retry_budget, 0, 100);
    check_count(out, base + ".retry_floor", pool.retry_floor, 0, 1'000'000);
    check_duration(out, base + ".request_timeout", pool.request_timeout, 0, kDay);
    check_standing(pool, base, out);
    check_discovery(pool, base, out);
    if (pool.tls) check_tls(pool, base, out);
  }
  return out;
}

}  // namespace pqedge::upstream
