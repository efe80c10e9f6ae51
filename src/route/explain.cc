#include "route/explain.h"

#include <algorithm>
#include <compare>
#include <format>
#include <optional>

#include "base/problem.h"
#include "base/text.h"

namespace pqedge::route {
namespace {

enum class PathKind : uint8_t { prefix, pattern, exact };

// How well a route fits: the larger goes first. In the order of the rules of table.h.
struct Fit {
  uint32_t priority = 0;
  size_t host = 0;  // SIZE_MAX: exact; else the wildcard's length; 0: any host
  PathKind kind = PathKind::prefix;
  size_t length = 0;  // of a prefix
  Conditions::Rank rank;
  uint32_t index = 0;  // the smaller goes first
};

struct Judged {
  Candidate candidate;
  std::optional<Fit> fit;
};

// How well one of a route's hosts fits; nullopt: none does.
std::optional<size_t> host_fit(const RouteSettings& s, std::string_view host) {
  if (s.hosts.empty()) return 0;
  std::optional<size_t> best;
  for (const std::string& pattern : s.hosts) {
    std::optional<size_t> fit;
    if (pattern.starts_with("*.")) {
      const std::string suffix = to_lower(pattern.substr(1));
      if (host.size() > suffix.size() && host.ends_with(suffix)) fit = suffix.size();
    } else if (!host.empty() && iequals(pattern, host)) {
      fit = SIZE_MAX;
    }
    if (fit && (!best || *fit > *best)) best = fit;
  }
  return best;
}

bool prefix_fits(std::string_view prefix, std::string_view path) {
  if (prefix.empty() || prefix == "/") return true;
  if (!path.starts_with(prefix)) return false;
  return prefix.ends_with('/') || path.size() == prefix.size() || path[prefix.size()] == '/';
}

// Empty when the path fits, and `fit` is told how well.
std::string path_lacks(const RouteSettings& s, std::string_view path, Fit& fit) {
  if (!s.path.empty()) {
    fit.kind = PathKind::exact;
    return path == s.path ? "" : std::format("its path is {}", in_quotes(s.path));
  }
  if (!s.path_regex.empty()) {
    fit.kind = PathKind::pattern;
    const auto pattern = Pattern::compile(s.path_regex);
    return pattern && path.starts_with('/') && pattern->matches(path)
               ? ""
               : std::format("its pattern {} does not match the path", in_quotes(s.path_regex));
  }
  fit.length = s.path_prefix == "/" ? 0 : s.path_prefix.size();
  return prefix_fits(s.path_prefix, path)
             ? ""
             : std::format("the path is not at or below its prefix {}", in_quotes(s.path_prefix));
}

std::string host_lacks(const RouteSettings& s, std::string_view host) {
  std::string hosts;
  for (size_t i = 0; i < s.hosts.size() && i < 5; ++i) hosts += (i == 0 ? "" : ", ") + s.hosts[i];
  if (s.hosts.size() > 5) hosts += std::format(" and {} more", s.hosts.size() - 5);
  return std::format("the host {} is none of its hosts ({})", in_quotes(host), hosts);
}

Judged judge(const Route& route, const Subject& subject) {
  Judged j{.candidate = {.route = &route}, .fit = std::nullopt};
  const RouteSettings& s = route.settings;
  Fit fit{.priority = s.priority, .rank = route.conditions.rank(), .index = route.index};
  const auto host = host_fit(s, subject.request.host);
  if (!host) {
    j.candidate.why = host_lacks(s, subject.request.host);
    return j;
  }
  fit.host = *host;
  j.candidate.why = path_lacks(s, subject.request.path, fit);
  if (j.candidate.why.empty()) j.candidate.why = route.conditions.failed(subject);
  if (!j.candidate.why.empty()) return j;
  j.candidate.matches = true;
  j.fit = fit;
  return j;
}

// Among patterns the order of the file goes before what else a route asks for.
bool goes_before(const Fit& a, const Fit& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.host != b.host) return a.host > b.host;
  if (a.kind != b.kind) return a.kind > b.kind;
  if (a.length != b.length) return a.length > b.length;
  if (a.kind != PathKind::pattern && a.rank != b.rank) return a.rank > b.rank;
  return a.index < b.index;
}

std::string reason(const Fit& winner, const Fit& loser, const std::string& name) {
  const std::string by = std::format("it matches, but {} goes before it: ", in_quotes(name));
  if (winner.priority != loser.priority) {
    return by + std::format("its priority is {}, here {}", winner.priority, loser.priority);
  }
  if (winner.host != loser.host) return by + "its host is more specific";
  if (winner.kind != loser.kind) {
    return by + (winner.kind == PathKind::exact ? "its path is exact" : "a pattern, not a prefix");
  }
  if (winner.length != loser.length) return by + "its prefix is longer";
  if (winner.kind != PathKind::pattern && winner.rank != loser.rank) {
    return by + "it asks for more (method, then fields, parameters, client)";
  }
  return by + "it comes first in the file";
}

}  // namespace

std::vector<Candidate> explain(const Table& table, const Subject& subject) {
  std::vector<Judged> judged;
  for (const Route& route : table.routes()) judged.push_back(judge(route, subject));
  std::ranges::stable_sort(judged, [](const Judged& a, const Judged& b) {
    if (!a.fit || !b.fit) return a.fit.has_value() && !b.fit;
    return goes_before(*a.fit, *b.fit);
  });
  std::vector<Candidate> out;
  for (Judged& j : judged) {
    if (j.fit) {
      const Judged& first = judged.front();
      j.candidate.taken = &j == &first;
      j.candidate.why = j.candidate.taken
                            ? "takes it"
                            : reason(*first.fit, *j.fit, first.candidate.route->settings.name);
    }
    out.push_back(j.candidate);
  }
  return out;
}

}  // namespace pqedge::route
