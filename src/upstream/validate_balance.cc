#include "upstream/validate_balance.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "http/names.h"

namespace pqedge::upstream {
namespace {

void check_key(const KeySource& source, const std::string& key, Problems& out) {
  using Kind = KeySource::Kind;
  if (source.kind != Kind::header && source.kind != Kind::cookie) return;
  if (http::is_token(source.name) && source.name.size() <= 256) return;
  const std::string what = source.kind == Kind::header ? "a header field" : "a cookie";
  out.push_back({key, in_quotes(source.name) + " is not the name of " + what,
                 "use letters, digits and '-' or '_'"});
}

void check_server_shares(const PoolSettings& pool, const std::string& base, Problems& out) {
  const std::string key = base + ".servers";
  std::map<std::string_view, size_t> ids;
  for (size_t i = 0; i < pool.servers.size(); ++i) {
    const ServerSettings& server = pool.servers[i];
    const std::string server_key = entry_key(key, i);
    check_count(out, server_key + ".weight", server.weight, 0, 1000);
    check_count(out, server_key + ".priority", server.priority, 0, 100);
    if (server.id.empty()) continue;
    const auto [it, added] = ids.try_emplace(server.id, i);
    if (!added) {
      out.push_back({server_key + ".id", in_quotes(server.id) + " is the id of another server", "",
                     entry_key(key, it->second)});
    }
  }
  const bool none = !pool.servers.empty() &&
                    std::ranges::all_of(pool.servers, [](const auto& s) { return s.weight == 0; });
  if (none) {
    out.push_back(
        {key, "all have the weight 0: no request has anywhere to go", "give one of them a weight"});
  }
}

}  // namespace

void check_balance(const PoolSettings& pool, const std::string& base, Problems& out) {
  check_server_shares(pool, base, out);
  check_key(pool.hash_by, base + ".hash_by", out);
  check_key(
      pool.affinity,
      base + (pool.affinity.kind == KeySource::Kind::cookie ? ".affinity_cookie" : ".affinity"),
      out);
  if (pool.affinity_ttl != 0) {
    check_duration(out, base + ".affinity_ttl", pool.affinity_ttl, kSecond, 400 * kDay);
  }
  check_count(out, base + ".affinity_entries", pool.affinity_entries, 8, 16'777'216);
  check_count(out, base + ".max_requests", pool.max_requests, 0, 1'000'000);
  check_count(out, base + ".queue", pool.queue, 0, 100'000);
  check_duration(out, base + ".queue_timeout", pool.queue_timeout, kMillisecond, 3600 * kSecond);
  check_duration(out, base + ".slow_start", pool.slow_start, 0, 3600 * kSecond);
  if (pool.queue != 0 && pool.max_requests == 0 && pool.max_connections == 0) {
    out.push_back({base + ".queue", "has no effect: the servers have no maximum",
                   "set max_requests, or max_connections"});
  }
}

}  // namespace pqedge::upstream
