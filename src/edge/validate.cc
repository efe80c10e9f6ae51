#include "edge/validate.h"

#include <algorithm>
#include <format>
#include <map>
#include <set>

#include "crypto/policy.h"
#include "crypto/providers.h"
#include "edge/validate_acme.h"
#include "edge/validate_passthrough.h"
#include "edge/validate_stream.h"
#include "http/validate.h"
#include "record/validate.h"
#include "route/validate.h"
#include "route/validate_shape.h"
#include "upstream/validate.h"
#include "wire/quic/validate.h"

namespace pqedge::edge {
namespace {

void check_addresses(const ListenerSettings& listener, const std::string& key, Problems& out) {
  if (listener.addresses.empty()) {
    out.push_back({key, "is missing", "write address = \"0.0.0.0:443\""});
  }
  bool any_ip6 = false;
  for (size_t a = 0; a < listener.addresses.size(); ++a) {
    const net::Address& address = listener.addresses[a];
    any_ip6 |= address.family() == AF_INET6;
    if (address.is_ip() && address.port() == 0) {
      out.push_back({entry_key(key, a), "port 0 is not an address to listen on"});
    }
    if (address.is_unix() && listener.http3) {
      out.push_back({entry_key(key, a), "a Unix socket cannot carry HTTP/3, which needs UDP",
                     "take \"h3\" out of protocols, or give the socket a listener of its own"});
    }
  }
  if (listener.v6_only && !any_ip6) {
    out.push_back({key.substr(0, key.rfind('.')) + ".v6_only",
                   "has no effect on a listener without an IPv6 address"});
  }
}

void check_protocols(const ListenerSettings& l, const std::string& base, Problems& out) {
  if (!l.tls && (l.http2 || l.http3)) {
    out.push_back({base + ".protocols",
                   std::format("{} needs tls = true", l.http2 ? "\"h2\"" : "\"h3\""),
                   "browsers speak it over TLS alone; without TLS keep \"http/1.1\""});
  }
  if (!l.binds_tcp() && !l.binds_udp()) {
    out.push_back({base + ".protocols", "is empty", "name \"http/1.1\", \"h2\" or \"h3\""});
  }
  if (l.http3 && l.tls && !l.http1 && !l.http2) {
    out.push_back({base + ".protocols", "has \"h3\" alone",
                   "clients learn of HTTP/3 from an answer over TCP: add \"h2\" or \"http/1.1\""});
  }
}

void check_redirect(const ListenerSettings& l, const std::string& base, Problems& out) {
  if (!l.redirect_to_https) return;
  if (l.tls) {
    out.push_back({base + ".redirect_to_https", "makes no sense with tls = true",
                   "a redirect listener takes plain HTTP: tls = false"});
  }
  check_count(out, base + ".redirect_port", l.redirect_port, 1, 65535);
  route::check_host_list(l.redirect_hosts, base + ".redirect_hosts", out);
}

void check_proxy_from(const ListenerSettings& l, const std::string& base, Problems& out) {
  if (l.proxy_from.empty()) return;
  const bool has_tcp = std::ranges::any_of(l.addresses, &net::Address::is_ip);
  if (!has_tcp) {
    out.push_back({base + ".proxy_from", "has no effect on a Unix socket",
                   "whoever may connect to it is known by the file's permissions"});
  }
}

// Linux lets sockets with SO_REUSEPORT share an address silently, so that half of the connections
// would go to the wrong listener.
bool overlap(const net::Address& a, bool a_v6_only, const net::Address& b, bool b_v6_only) {
  if (a == b) return true;
  if (!a.is_ip() || !b.is_ip() || a.port() != b.port() || !a.is_any() || !b.is_any()) return false;
  // "[::]" takes IPv4 as well unless it is kept to IPv6.
  return (a.family() == AF_INET6 && !a_v6_only) || (b.family() == AF_INET6 && !b_v6_only);
}

void check_overlaps(const Settings& settings, Problems& out) {
  struct Seen {
    const net::Address* address;
    bool v6_only;
    std::string key;
  };
  std::vector<Seen> seen;
  for (size_t i = 0; i < settings.listeners.size(); ++i) {
    const ListenerSettings& l = settings.listeners[i];
    for (size_t a = 0; a < l.addresses.size(); ++a) {
      const std::string key = entry_key(entry_key("listener", i, "address"), a);
      const auto other = std::ranges::find_if(seen, [&](const Seen& s) {
        return overlap(*s.address, s.v6_only, l.addresses[a], l.v6_only);
      });
      if (other != seen.end()) {
        const bool same = *other->address == l.addresses[a];
        out.push_back(
            {key,
             std::format("{} is {}", l.addresses[a].to_string(),
                         same ? "there twice" : "covered by another address of that port"),
             same ? "" : "\"[::]\" takes IPv4 too: set v6_only = true, or keep one", other->key});
      }
      seen.push_back({&l.addresses[a], l.v6_only, key});
    }
  }
}

void check_listeners(const Settings& settings, Problems& out) {
  if (settings.listeners.empty()) {
    out.push_back(
        {"listener", "is missing", "write a [[listener]] with address = \"0.0.0.0:443\""});
  }
  std::map<std::string_view, size_t> names;
  for (size_t i = 0; i < settings.listeners.size(); ++i) {
    const ListenerSettings& l = settings.listeners[i];
    const std::string base = entry_key("listener", i);
    check_label(out, base + ".name", l.name);
    const auto [it, added] = names.try_emplace(l.name, i);
    if (!added && !l.name.empty()) {
      out.push_back({base + ".name", in_quotes(l.name) + " is the name of another listener", "",
                     entry_key("listener", it->second)});
    }
    check_addresses(l, base + ".address", out);
    check_protocols(l, base, out);
    check_redirect(l, base, out);
    check_proxy_from(l, base, out);
  }
  check_overlaps(settings, out);
}

void check_pools_of_routes(const Settings& settings, Problems& out) {
  std::vector<std::string_view> names;
  for (const auto& pool : settings.pools) names.push_back(pool.name);
  const std::set<std::string_view> known(names.begin(), names.end());
  std::set<std::string_view> used;
  const auto use = [&](const std::string& pool, size_t route, std::string_view key) {
    if (pool.empty()) return;
    used.insert(pool);
    if (known.contains(pool)) return;
    std::string hint = did_you_mean(pool, names);
    if (hint.empty()) hint = "write a [[pool]] with name = " + in_quotes(pool);
    out.push_back({entry_key("route", route, key), "there is no pool " + in_quotes(pool), hint});
  };
  for (size_t i = 0; i < settings.routes.size(); ++i) {
    use(settings.routes[i].pool, i, "pool");
    use(settings.routes[i].canary.pool, i, "canary.pool");
    use(settings.routes[i].forward.shadow_pool, i, "shadow_pool");
  }
  for (const PassthroughSettings& p : settings.passthroughs) used.insert(p.pool);
  for (const ListenerSettings& l : settings.listeners) used.insert(l.stream.pool);
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty() || used.contains(names[i])) continue;
    out.push_back(
        {entry_key("pool", i), in_quotes(names[i]) + " is used by no route", "", "", true});
  }
}

void check_routes_of_pages(const Settings& settings, Problems& out) {
  std::set<std::string_view> known;
  for (const auto& route : settings.routes) known.insert(route.name);
  for (size_t i = 0; i < settings.error_pages.size(); ++i) {
    const auto& routes = settings.error_pages[i].routes;
    for (size_t r = 0; r < routes.size(); ++r) {
      if (known.contains(routes[r])) continue;
      out.push_back({entry_key(entry_key("error_page", i, "routes"), r),
                     "there is no route " + in_quotes(routes[r]), did_you_mean(routes[r], known)});
    }
  }
}

void check_certificates(const crypto::TlsSettings& tls, Problems& out) {
  const auto& list = tls.certificates;
  for (size_t i = 0; i < list.size(); ++i) {
    for (size_t earlier = 0; earlier < i; ++earlier) {
      if (list[i].is_default && list[earlier].is_default) {
        out.push_back({entry_key("certificate", i, "default"), "is the second default",
                       "only one certificate can be served when no name matches",
                       entry_key("certificate", earlier, "default")});
        break;
      }
      if (list[i].chain_file == list[earlier].chain_file && !list[i].chain_file.empty()) {
        out.push_back({entry_key("certificate", i, "chain"), "is there twice", "",
                       entry_key("certificate", earlier, "chain")});
        break;
      }
      if (list[i].directory == list[earlier].directory && !list[i].directory.empty()) {
        out.push_back({entry_key("certificate", i, "directory"), "is there twice", "",
                       entry_key("certificate", earlier, "directory")});
        break;
      }
    }
  }
}

// Whether a client could show a certificate to the host, which may be a pattern or empty (any).
bool asks_clients(const Settings& s, std::string_view host) {
  const auto asks = [](const crypto::TlsSettings& tls) {
    return tls.client_auth.mode != crypto::ClientAuth::off;
  };
  // A route's pattern and a policy's may overlap in many ways: it is enough that some policy asks,
  // unless one names the very host.
  for (const crypto::HostPolicySettings& policy : s.tls_policies) {
    for (const std::string& named : policy.hosts) {
      if (iequals(named, host)) return asks(policy.tls);
    }
  }
  return asks(s.tls) || std::ranges::any_of(s.tls_policies, asks, &crypto::HostPolicySettings::tls);
}

void check_clients_of_routes(const Settings& s, Problems& out) {
  for (size_t i = 0; i < s.routes.size(); ++i) {
    const route::RouteSettings& r = s.routes[i];
    const auto refuse = [&](std::string_view host) {
      out.push_back({entry_key("route", i),
                     host.empty()
                         ? std::string("wants a client certificate, and no client is asked "
                                       "for one")
                         : std::format("wants a client certificate, and clients of {} are "
                                       "not asked for one",
                                       in_quotes(host)),
                     "set client_auth in [tls] or in the [[tls_policy]] of the host"});
    };
    if (!r.wants_client()) continue;
    if (r.hosts.empty() && !asks_clients(s, "")) refuse("");
    for (const std::string& host : r.hosts) {
      if (!asks_clients(s, host)) refuse(host);
    }
    if (r.redirect_https) {
      out.push_back({entry_key("route", i), "redirects to https, and wants a client certificate",
                     "keep one: a redirect is for clients that have shown none"});
    }
  }
}

void check_debug(const DebugSettings& debug, Problems& out) {
  const bool writes = !debug.keylog_file.empty() || !debug.qlog_dir.empty();
  if (debug.client.empty() && writes) {
    out.push_back({"debug.client", "is missing",
                   "name the one client address whose connections are written down"});
  } else if (!debug.client.empty() && !writes) {
    out.push_back({"debug.client", "has no effect without keylog_file or qlog_dir"});
  }
  if (!debug.client.empty() && !net::Address::from_ip(debug.client, 0)) {
    out.push_back({"debug.client", in_quotes(debug.client) + " is not an IP address"});
  }
  if (!debug.keylog_file.empty()) {
    out.push_back({"debug.keylog_file",
                   "session keys of " + in_quotes(debug.client) +
                       " are written down: its traffic can be decrypted",
                   "remove it when you are done", "", true});
  }
}

void check_server(const Settings& s, Problems& out) {
  check_count(out, "server.workers", s.workers, 0, 256);
  check_count(out, "server.max_connections", s.max_connections, 1, 100'000'000);
  check_duration(out, "server.drain_timeout", s.drain_timeout, 0, kDay);
  check_duration(out, "server.drain_linger", s.drain_linger, 0, s.drain_timeout);
  check_duration(out, "server.upgrade_drain_timeout", s.upgrade_drain_timeout, 0, 7 * kDay);
}

}  // namespace

Problems validate(const Settings& settings) {
  Problems out;
  check_server(settings, out);
  check_listeners(settings, out);
  check_pools_of_routes(settings, out);
  check_routes_of_pages(settings, out);
  check_certificates(settings.tls, out);
  check_debug(settings.debug, out);
  check_clients_of_routes(settings, out);
  for (Problems part :
       {crypto::validate(settings.tls), crypto::validate(settings.tls_policies),
        http::validate(settings.identity.client_certificate), crypto::validate(settings.crypto),
        crypto::validate(settings.signing), http::validate(settings.limits),
        http::validate(settings.identity), upstream::validate(settings.pools),
        route::validate(settings.routes), route::validate(settings.header_rules),
        content::validate(settings.error_pages), quic::validate(settings.quic),
        record::validate(settings.logs), validate_passthroughs(settings),
        validate_streams(settings), validate_acme(settings)}) {
    out.insert(out.end(), part.begin(), part.end());
  }
  const bool answers = std::ranges::any_of(settings.listeners, [](const ListenerSettings& l) {
    return !l.redirect_to_https && !l.takes_stream();
  });
  if (settings.routes.empty() && answers) {
    out.push_back({"route", "is missing: every request gets 404", "write a [[route]]", "", true});
  }
  return out;
}

}  // namespace pqedge::edge
