#include "edge/validate_passthrough.h"

#include <algorithm>
#include <format>
#include <map>

#include "edge/passthrough.h"
#include "route/validate.h"

namespace pqedge::edge {
namespace {

constexpr size_t kMaxId = 20;        // RFC 9000 17.2
constexpr size_t kMaxQuicLbId = 15;  // draft-ietf-quic-load-balancers 4
constexpr uint8_t kMaxRotation = 6;  // 7 stands for IDs that cannot be routed (4.1)

std::string base_of(size_t i) { return entry_key("passthrough", i); }

const upstream::PoolSettings* pool_of(const Settings& s, const PassthroughSettings& p) {
  const auto pool = std::ranges::find(s.pools, p.pool, &upstream::PoolSettings::name);
  return pool == s.pools.end() ? nullptr : &*pool;
}

bool on_udp(const Settings& s, const PassthroughSettings& p) {
  return p.quic && std::ranges::any_of(s.listeners, [&](const ListenerSettings& l) {
           return l.http3 && holds_on(p, l);
         });
}

void check_hosts(const PassthroughSettings& p, const std::string& base, Problems& out) {
  const std::string key = base + ".hosts";
  if (p.hosts.empty()) {
    out.push_back({key, "is missing", "name the hosts that are passed on, as in [\"a.test\"]"});
    return;
  }
  route::check_host_list(p.hosts, key, out);
  for (size_t h = 0; h < p.hosts.size(); ++h) {
    const std::string& host = p.hosts[h];
    if (net::Address::from_ip(host, 0) || host.starts_with('[')) {
      out.push_back({entry_key(key, h), "an address is no name that clients ask for",
                     "RFC 6066 3 allows host names alone"});
    }
  }
}

void check_pool(const Settings& s, const PassthroughSettings& p, const std::string& base,
                Problems& out) {
  const std::string key = base + ".pool";
  if (p.pool.empty()) return;  // said where it was read
  const upstream::PoolSettings* pool = pool_of(s, p);
  if (pool == nullptr) {
    std::vector<std::string_view> names;
    for (const auto& each : s.pools) names.push_back(each.name);
    std::string hint = did_you_mean(p.pool, names);
    if (hint.empty()) hint = "write a [[pool]] with name = " + in_quotes(p.pool);
    out.push_back({key, "there is no pool " + in_quotes(p.pool), hint});
    return;
  }
  if (pool->servers.empty()) {
    out.push_back({key,
                   std::format("the servers of pool {} are all discovered, and names are passed "
                               "on to those of its servers alone",
                               in_quotes(p.pool)),
                   "name servers in the pool"});
    return;
  }
  if (!on_udp(s, p)) return;
  for (const auto& server : pool->servers) {
    if (server.address.is_ip()) continue;
    out.push_back({key,
                   std::format("{} of pool {} cannot be reached over UDP", in_quotes(server.name),
                               in_quotes(p.pool)),
                   "write protocols = [\"tls\"], or a pool of its own"});
    break;
  }
  if (pool->send_proxy == 1) {
    out.push_back({key, "PROXY version 1 has no form for UDP, and the pool asks for it",
                   "write send_proxy = \"v2\" in the pool, or protocols = [\"tls\"] here"});
  }
}

void check_listeners(const Settings& s, const PassthroughSettings& p, const std::string& base,
                     Problems& out) {
  const std::string key = base + ".listeners";
  std::vector<std::string_view> names;
  for (const ListenerSettings& l : s.listeners) names.push_back(l.name);
  for (size_t i = 0; i < p.listeners.size(); ++i) {
    const auto l = std::ranges::find(s.listeners, p.listeners[i], &ListenerSettings::name);
    if (l == s.listeners.end()) {
      out.push_back({entry_key(key, i), "there is no listener " + in_quotes(p.listeners[i]),
                     did_you_mean(p.listeners[i], names)});
    } else if (!l->tls) {
      out.push_back({entry_key(key, i), in_quotes(l->name) + " takes no TLS: no name is read there",
                     "name listeners with tls = true"});
    }
  }
  if (!p.tls && !p.quic) {
    out.push_back({base + ".protocols", "is empty", "name \"tls\", \"quic\" or both"});
  } else if (!p.tls && !on_udp(s, p) && !s.listeners.empty()) {
    out.push_back({base + ".protocols", "is \"quic\" alone, and no listener of it has \"h3\"",
                   "add \"h3\" to the protocols of the listener"});
  }
}

bool overlap(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b) {
  const size_t n = std::min(a.size(), b.size());
  return std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(n), b.begin());
}

// One ID must not name two servers.
bool overlap(const ServerIdSettings& a, const ServerIdSettings& b) {
  if (a.server == b.server) return false;
  if (!a.prefix.empty() && !b.prefix.empty()) return overlap(a.prefix, b.prefix);
  if (a.prefix.empty() && b.prefix.empty()) {
    return a.rotation == b.rotation && overlap(a.quic_lb, b.quic_lb);
  }
  const ServerIdSettings& plain = a.prefix.empty() ? b : a;
  const ServerIdSettings& lb = a.prefix.empty() ? a : b;
  return plain.prefix[0] >> 5 == lb.rotation &&
         overlap({plain.prefix.begin() + 1, plain.prefix.end()}, lb.quic_lb);
}

void check_server_id(const Settings& s, const PassthroughSettings& p, size_t i,
                     const std::string& list, Problems& out) {
  const ServerIdSettings& id = p.server_ids[i];
  const std::string key = entry_key(list, i);
  const upstream::PoolSettings* pool = pool_of(s, p);
  if (pool != nullptr && id.server.is_ip() &&
      std::ranges::find(pool->servers, id.server, &upstream::ServerSettings::address) ==
          pool->servers.end()) {
    out.push_back(
        {key + ".server", id.server.to_string() + " is no server of pool " + in_quotes(p.pool)});
  }
  if (id.prefix.empty() == id.quic_lb.empty()) {
    out.push_back(
        {key, id.prefix.empty() ? "has neither prefix nor quic_lb" : "has both prefix and quic_lb",
         "write one of them, in hexadecimal digits"});
  }
  if (id.prefix.size() > kMaxId) {
    out.push_back({key + ".prefix", "is longer than a connection ID can be: 20 bytes"});
  }
  if (id.quic_lb.size() > kMaxQuicLbId) {
    out.push_back({key + ".quic_lb", "is longer than a server ID can be: 15 bytes"});
  }
  check_count(out, key + ".rotation", id.rotation, 0, kMaxRotation);
}

void check_server_ids(const Settings& s, const PassthroughSettings& p, const std::string& base,
                      Problems& out) {
  if (p.server_ids.empty()) return;
  const std::string list = base + ".server_ids";
  if (!on_udp(s, p)) {
    out.push_back({list, "has no effect: nothing is passed on over UDP",
                   "add \"quic\" to protocols, and \"h3\" to those of the listener"});
  }
  for (size_t i = 0; i < p.server_ids.size(); ++i) check_server_id(s, p, i, list, out);
}

struct Owner {
  size_t passthrough;
  std::string key;
};

// Whether both hold on one listener and one transport.
bool meet(const Settings& s, const PassthroughSettings& a, const PassthroughSettings& b) {
  return std::ranges::any_of(s.listeners, [&](const ListenerSettings& l) {
    return holds_on(a, l) && holds_on(b, l) && ((a.tls && b.tls) || (a.quic && b.quic && l.http3));
  });
}

void check_claims(const Settings& s, Problems& out) {
  std::map<std::string, std::vector<Owner>> hosts;
  for (size_t i = 0; i < s.passthroughs.size(); ++i) {
    const PassthroughSettings& p = s.passthroughs[i];
    for (size_t h = 0; h < p.hosts.size(); ++h) {
      const std::string key = entry_key(base_of(i) + ".hosts", h);
      auto& owners = hosts[to_lower(p.hosts[h])];
      const auto other = std::ranges::find_if(owners, [&](const Owner& o) {
        return o.passthrough != i && meet(s, s.passthroughs[o.passthrough], p);
      });
      if (other != owners.end()) {
        out.push_back({key, in_quotes(p.hosts[h]) + " is passed on by another passthrough already",
                       "", other->key});
      }
      owners.push_back({i, key});
    }
  }
  for (size_t i = 0; i < s.passthroughs.size(); ++i) {
    for (size_t a = 0; a < s.passthroughs[i].server_ids.size(); ++a) {
      const ServerIdSettings& mine = s.passthroughs[i].server_ids[a];
      for (size_t j = 0; j <= i; ++j) {
        const auto& others = s.passthroughs[j].server_ids;
        const size_t end = j == i ? a : others.size();
        for (size_t b = 0; b < end; ++b) {
          if (mine.prefix.empty() == mine.quic_lb.empty() ||
              others[b].prefix.empty() == others[b].quic_lb.empty() || !overlap(mine, others[b])) {
            continue;
          }
          out.push_back({entry_key(base_of(i) + ".server_ids", a),
                         "an ID could name two servers: this one, and another", "",
                         entry_key(base_of(j) + ".server_ids", b)});
        }
      }
    }
  }
}

}  // namespace

Problems validate_passthroughs(const Settings& settings) {
  Problems out;
  std::map<std::string_view, size_t> names;
  for (size_t i = 0; i < settings.passthroughs.size(); ++i) {
    const PassthroughSettings& p = settings.passthroughs[i];
    const std::string base = base_of(i);
    check_label(out, base + ".name", p.name);
    const auto [it, added] = names.try_emplace(p.name, i);
    if (!added && !p.name.empty()) {
      out.push_back({base + ".name", in_quotes(p.name) + " is the name of another passthrough", "",
                     base_of(it->second)});
    }
    check_hosts(p, base, out);
    check_pool(settings, p, base, out);
    check_listeners(settings, p, base, out);
    check_server_ids(settings, p, base, out);
    check_duration(out, base + ".idle_timeout", p.idle_timeout, kSecond, 7 * kDay);
    check_duration(out, base + ".quic_idle_timeout", p.quic_idle_timeout, kSecond, kDay);
  }
  check_claims(settings, out);
  return out;
}

}  // namespace pqedge::edge
