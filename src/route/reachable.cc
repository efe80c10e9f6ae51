#include "route/reachable.h"

#include <algorithm>
#include <format>
#include <map>
#include <string>

#include "base/text.h"

namespace pqedge::route {
namespace {

// What else than the method a route asks for, in one order: equal texts ask for the same.
std::string demands(const RouteSettings& route) {
  std::vector<std::string> all;
  for (const ValueMatch& m : route.headers) {
    all.push_back(std::format("h{}\n{}\n{}", to_lower(m.name), static_cast<int>(m.kind), m.value));
  }
  for (const ValueMatch& m : route.query) {
    all.push_back(std::format("q{}\n{}\n{}", m.name, static_cast<int>(m.kind), m.value));
  }
  for (const net::Network& n : route.clients) all.push_back('c' + n.to_string());
  for (const ConnectTarget& t : route.tunnel.connect) {
    all.push_back(std::format("t{}:{}", t.host, t.port));
  }
  std::ranges::sort(all);
  std::string out;
  for (const std::string& one : all) out += std::format("{}:{}\n", one.size(), one);
  return out;
}

std::string path_claim(const RouteSettings& route) {
  if (!route.path.empty()) return '=' + route.path;
  if (!route.path_regex.empty()) return '~' + route.path_regex;
  return '^' + (route.path_prefix == "/" ? std::string() : route.path_prefix);
}

// ---- the same host and path --------------------------------------------------------------------

// Among routes with the same host and path the order is by what they ask for, so one takes all that
// a later one would match exactly when it asks for the same and has the later one's methods.
class Owners {
 public:
  struct Taken {
    size_t hosts = 0;  // that are taken whole
    size_t host = 0;   // the last of them
    size_t owner = 0;
  };
  Taken claim(const RouteSettings& route, size_t index) {
    const std::vector<std::string> any = {""};
    const auto& hosts = route.hosts.empty() ? any : route.hosts;
    const auto& methods = route.methods.empty() ? any : route.methods;
    const std::string rest =
        std::format("\n{}\n{}\n{}", route.priority, path_claim(route), demands(route));
    Taken taken;
    for (size_t h = 0; h < hosts.size(); ++h) {
      size_t lost = 0;
      size_t owner = 0;
      for (const std::string& method : methods) {
        const auto [it, added] =
            owners_.try_emplace(to_lower(hosts[h]) + '\n' + method + rest, index);
        if (added || it->second == index) continue;
        ++lost;
        owner = it->second;
      }
      if (lost < methods.size()) continue;
      ++taken.hosts;
      taken.host = h;
      taken.owner = owner;
    }
    return taken;
  }

 private:
  std::map<std::string, size_t> owners_;
};

// ---- by the order -------------------------------------------------------------------------------

bool covers_host(const std::string& wider, const std::string& host) {
  if (iequals(wider, host)) return true;
  if (!wider.starts_with("*.")) return false;
  const std::string suffix = to_lower(wider.substr(1));
  const std::string inner = to_lower(host.starts_with("*.") ? host.substr(1) : host);
  return inner.size() > suffix.size() && inner.ends_with(suffix);
}

bool covers_hosts(const RouteSettings& a, const RouteSettings& b) {
  if (a.hosts.empty()) return true;
  return !b.hosts.empty() && std::ranges::all_of(b.hosts, [&](const std::string& host) {
    return std::ranges::any_of(a.hosts,
                               [&](const std::string& wider) { return covers_host(wider, host); });
  });
}

bool covers_path(const RouteSettings& a, const RouteSettings& b) {
  if (path_claim(a) == path_claim(b)) return true;
  if (!a.path.empty() || !a.path_regex.empty()) return false;
  if (a.path_prefix.empty() || a.path_prefix == "/") return true;
  if (!b.path_regex.empty()) return false;
  const std::string& inner = b.path.empty() ? b.path_prefix : b.path;
  if (!inner.starts_with(a.path_prefix)) return false;
  return a.path_prefix.ends_with('/') || inner.size() == a.path_prefix.size() ||
         inner[a.path_prefix.size()] == '/';
}

template <typename T>
bool has_all_of(const std::vector<T>& wider, const std::vector<T>& of) {
  return std::ranges::all_of(of, [&](const T& one) { return std::ranges::contains(wider, one); });
}

bool covers_demands(const RouteSettings& a, const RouteSettings& b) {
  const bool methods =
      a.methods.empty() || (!b.methods.empty() && has_all_of(a.methods, b.methods));
  const auto text = [](const net::Network& n) { return n.to_string(); };
  const bool clients =
      a.clients.empty() || std::ranges::equal(a.clients, b.clients, {}, text, text);
  return methods && clients && has_all_of(b.headers, a.headers) && has_all_of(b.query, a.query);
}

// Whether `a` is looked at before `b` for every request that `b` would match, and takes it. By a
// higher priority; or the same pattern for the same hosts stands before it in the file.
bool covers(const RouteSettings& a, const RouteSettings& b, bool before) {
  if (!a.tunnel.connect.empty() || !b.tunnel.connect.empty()) return false;  // by their targets
  const bool higher = a.priority > b.priority;
  const bool same_pattern = before && a.priority == b.priority && !a.path_regex.empty() &&
                            a.path_regex == b.path_regex && a.hosts == b.hosts;
  if (!higher && !same_pattern) return false;
  // Where both ask for the same, Owners has told already.
  const auto told = [&] {
    return demands(a) == demands(b) && a.methods.empty() == b.methods.empty();
  };
  if (!higher && told()) return false;
  return covers_hosts(a, b) && covers_path(a, b) && covers_demands(a, b);
}

void report(const std::vector<RouteSettings>& routes, size_t route, size_t owner, Problems& out) {
  out.push_back({entry_key("route", route),
                 std::format("can never be reached: every request it would match is taken by the "
                             "{} route {}",
                             owner < route ? "earlier" : "later", in_quotes(routes[owner].name)),
                 routes[owner].priority > routes[route].priority
                     ? "it has a higher priority: remove one of the two, or its priority"
                     : "remove one of the two, or give them different hosts or paths",
                 entry_key("route", owner)});
}

// Routes by their hosts, so that each is compared with few in a configuration of thousands.
class Takers {
 public:
  void add(const RouteSettings& route, size_t index) {
    if (route.hosts.empty()) by_host_[""].push_back(index);
    for (const std::string& host : route.hosts) by_host_[to_lower(host)].push_back(index);
  }
  // Those that could cover the first host of `route`, in the order of the file.
  std::vector<size_t> near(const RouteSettings& route) const {
    std::vector<size_t> found;
    const auto take = [&](const std::string& key) {
      const auto it = by_host_.find(key);
      if (it != by_host_.end()) found.insert(found.end(), it->second.begin(), it->second.end());
    };
    take("");
    if (!route.hosts.empty()) {
      const std::string host = to_lower(route.hosts.front());
      take(host);
      for (size_t dot = host.find('.'); dot != std::string::npos; dot = host.find('.', dot + 1)) {
        const std::string wider = '*' + host.substr(dot);
        if (wider != host) take(wider);
      }
    }
    std::ranges::sort(found);
    return found;
  }

 private:
  std::map<std::string, std::vector<size_t>> by_host_;
};

// Only those with a priority above the lowest, or with a pattern, can take away from others so.
void check_order(const std::vector<RouteSettings>& routes, Problems& out) {
  if (routes.empty()) return;
  const uint32_t lowest = std::ranges::min(routes, {}, &RouteSettings::priority).priority;
  Takers takers;
  for (size_t i = 0; i < routes.size(); ++i) {
    if (routes[i].priority > lowest || !routes[i].path_regex.empty()) takers.add(routes[i], i);
  }
  for (size_t i = 0; i < routes.size(); ++i) {
    const std::vector<size_t> near = takers.near(routes[i]);
    const auto owner = std::ranges::find_if(
        near, [&](size_t a) { return a != i && covers(routes[a], routes[i], a < i); });
    if (owner != near.end()) report(routes, i, *owner, out);
  }
}

}  // namespace

void check_reachable(const std::vector<RouteSettings>& routes, Problems& out) {
  Owners owners;
  for (size_t i = 0; i < routes.size(); ++i) {
    const auto taken = owners.claim(routes[i], i);
    if (taken.hosts == 0) continue;
    if (taken.hosts == std::max<size_t>(routes[i].hosts.size(), 1)) {
      report(routes, i, taken.owner, out);
    } else {
      out.push_back(
          {entry_key(entry_key("route", i, "hosts"), taken.host),
           std::format("{} has no effect: its requests are taken by the earlier route {}",
                       in_quotes(routes[i].hosts[taken.host]), in_quotes(routes[taken.owner].name)),
           "", entry_key("route", taken.owner), true});
    }
  }
  check_order(routes, out);
}

}  // namespace pqedge::route
