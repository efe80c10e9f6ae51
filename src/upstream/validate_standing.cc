#include "upstream/validate_standing.h"

#include <algorithm>

namespace pqedge::upstream {
namespace {

bool is_printable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

void check_health(const PoolSettings& pool, const std::string& base, Problems& out) {
  using Kind = HealthSettings::Kind;
  const HealthSettings& h = pool.health;
  if (h.kind == Kind::off) return;
  check_duration(out, base + ".interval", h.interval, 10 * kMillisecond, kDay);
  if (h.interval_down != 0) {
    check_duration(out, base + ".interval_down", h.interval_down, 10 * kMillisecond, kDay);
  }
  check_duration(out, base + ".timeout", h.timeout, kMillisecond, 300 * kSecond);
  check_count(out, base + ".rise", h.rise, 1, 100);
  check_count(out, base + ".fall", h.fall, 1, 100);
  if (h.method != "GET" && h.method != "HEAD") {
    out.push_back({base + ".method", in_quotes(h.method) + " is not \"GET\" or \"HEAD\""});
  }
  if (!h.path.starts_with('/') || h.path.size() > 2048 || !is_printable(h.path) ||
      h.path.contains('#')) {
    out.push_back({base + ".path", "is not the path of a URL",
                   "begin it with /, and percent-encode spaces and letters that are not ASCII"});
  }
  if (h.host.size() > 255 || !is_printable(h.host) ||
      h.host.find_first_of("/?#@") != std::string::npos) {
    out.push_back({base + ".host", in_quotes(h.host) + " is not a host"});
  }
  if (h.body.size() > 1024) out.push_back({base + ".body", "is longer than 1024 bytes"});
  if (!h.body.empty() && h.method == "HEAD") {
    out.push_back({base + ".body", "has no effect with method = \"HEAD\": there is no body"});
  }
  if (h.service.size() > 255 || !is_printable(h.service)) {
    out.push_back({base + ".service", "is not the name of a service"});
  }
  const bool h2 = pool.protocol == Protocol::h2 || pool.protocol == Protocol::h2c ||
                  pool.protocol == Protocol::automatic;
  if (h.kind == Kind::grpc && !h2) {
    out.push_back({base + ".kind", "is \"grpc\", which needs HTTP/2",
                   "give the pool protocol = \"h2\" (TLS) or \"h2c\""});
  }
  if (h.kind == Kind::tcp && pool.protocol == Protocol::h3) {
    out.push_back({base + ".kind", "is \"tcp\", and the pool speaks HTTP/3, over UDP",
                   "use kind = \"http\""});
  }
}

// What ejection and breaker have in common.
template <typename Rule>
void check_thresholds(const Rule& rule, const std::string& base, Problems& out) {
  check_count(out, base + ".failures", rule.failures, 0, 10'000);
  check_count(out, base + ".error_percent", rule.error_percent, 0, 100);
  check_count(out, base + ".min_requests", rule.min_requests, 1, 1'000'000);
  check_duration(out, base + ".window", rule.window, 100 * kMillisecond, 3600 * kSecond);
  if (rule.failures == 0 && rule.error_percent == 0) {
    out.push_back({base, "looks at nothing: failures and error_percent are both 0"});
  }
}

void check_rules(const ServerRules& rules, const std::string& base, Problems& out) {
  const OutlierSettings& o = rules.outlier;
  const BreakerSettings& b = rules.breaker;
  if (o.on) {
    const std::string key = base + ".outlier";
    check_thresholds(o, key, out);
    check_duration(out, key + ".eject", o.eject, 10 * kMillisecond, kDay);
    check_duration(out, key + ".max_eject", o.max_eject, 10 * kMillisecond, kDay);
    check_count(out, key + ".max_percent", o.max_percent, 1, 100);
    if (o.max_eject < o.eject) {
      out.push_back({key + ".max_eject", "is shorter than eject", "", key + ".eject"});
    }
  }
  if (b.on) {
    const std::string key = base + ".breaker";
    check_thresholds(b, key, out);
    check_duration(out, key + ".pause", b.pause, 10 * kMillisecond, kDay);
    check_count(out, key + ".probes", b.probes, 1, 1000);
    check_duration(out, key + ".probe_timeout", b.probe_timeout, 10 * kMillisecond, 3600 * kSecond);
  }
  // A request is counted once.
  if (o.on && b.on && o.error_percent != 0 && b.error_percent != 0 && o.window != b.window) {
    out.push_back({base + ".outlier.window", "is not that of the breaker: they count together",
                   "give both the same", base + ".breaker.window"});
  }
  for (size_t i = 0; i < rules.failure_statuses.size(); ++i) {
    if (rules.failure_statuses[i] < 500) {
      out.push_back({entry_key(base + ".failure_statuses", i),
                     "says that the request was wrong, not that the server is",
                     "only 500 to 599 can be failures of a server"});
    }
  }
}

bool is_dns_name(std::string_view name) {
  if (name.empty() || name.size() > 253) return false;
  size_t label = 0;
  for (const char c : name) {
    if (c == '.') {
      if (label == 0) return false;
      label = 0;
      continue;
    }
    const bool known =
        is_digit(c) || c == '-' || c == '_' || (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z');
    if (!known || ++label > 63) return false;
  }
  return true;
}

}  // namespace

void check_standing(const PoolSettings& pool, const std::string& base, Problems& out) {
  check_health(pool, base + ".health", out);
  check_rules(pool.rules, base, out);
}

void check_discovery(const PoolSettings& pool, const std::string& base, Problems& out) {
  using Kind = DiscoverySettings::Kind;
  const DiscoverySettings& d = pool.discovery;
  if (d.kind == Kind::off) return;
  const std::string key = base + ".discovery";
  if (d.kind == Kind::file) {
    if (d.file.empty()) out.push_back({key + ".file", "is empty"});
    return;
  }
  const bool srv = d.kind == Kind::srv;
  if (!is_dns_name(d.name)) {
    out.push_back({key + (srv ? ".srv" : ".dns"), in_quotes(d.name) + " is not a name of DNS",
                   srv ? "write it as _http._tcp.app.internal" : "write it as app.internal"});
  }
  if (!srv && d.port == 0) out.push_back({key + ".port", "port 0 cannot be connected to"});
  check_duration(out, key + ".min_ttl", d.min_ttl, 100 * kMillisecond, kDay);
  check_duration(out, key + ".max_ttl", d.max_ttl, 100 * kMillisecond, kDay);
  check_duration(out, key + ".timeout", d.timeout, 10 * kMillisecond, 60 * kSecond);
  if (d.max_ttl < d.min_ttl) {
    out.push_back({key + ".max_ttl", "is shorter than min_ttl", "", key + ".min_ttl"});
  }
  for (size_t i = 0; i < d.resolvers.size(); ++i) {
    if (!d.resolvers[i].is_ip() || d.resolvers[i].port() == 0 || d.resolvers[i].is_any()) {
      out.push_back({entry_key(key + ".resolvers", i), "is not the address of a resolver",
                     "write \"192.0.2.53:53\""});
    }
  }
  if (d.resolvers.size() > 16) out.push_back({key + ".resolvers", "are more than 16"});
}

}  // namespace pqedge::upstream
