#include "route/validate_rewrite.h"

#include <algorithm>
#include <format>

#include "base/arena.h"
#include "base/text.h"
#include "http/uri.h"
#include "route/pattern.h"
#include "route/rewrite.h"
#include "route/template.h"

namespace pqedge::route {
namespace {

// Of a URL or a path that is written out.
bool is_url_text(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return c > 0x20 && c < 0x7f && std::string_view("\"<>\\^`").find(c) == std::string_view::npos;
  });
}

void check_path_text(const std::string& key, std::string_view path, Problems& out) {
  Arena arena;
  if (!path.starts_with('/')) {
    out.push_back({key, in_quotes(path) + " does not begin with \"/\"",
                   "write \"/" + std::string(path.substr(0, 200)) + "\""});
    return;
  }
  if (path.find_first_of("?#") != std::string_view::npos) {
    out.push_back(
        {key, in_quotes(path) + " has a query or fragment", "the query stays as it came"});
    return;
  }
  const auto canonical = http::canonical_path(path, arena);
  if (!canonical) {
    out.push_back({key, in_quotes(path) + " is a path that no request can have: " +
                            std::string(canonical.error().reason)});
  } else if (*canonical != path) {
    out.push_back(
        {key, in_quotes(path) + " is not in canonical form", "write " + in_quotes(*canonical)});
  }
}

bool is_at_or_below(std::string_view path, std::string_view prefix) {
  if (prefix.ends_with('/')) prefix.remove_suffix(1);
  return path.starts_with(prefix) && (path.size() == prefix.size() || path[prefix.size()] == '/');
}

void check_strip(const RouteSettings& route, const std::string& base, Problems& out) {
  const std::string key = base + ".rewrite.strip_prefix";
  const std::string& strip = route.rewrite.strip_prefix;
  check_path_text(key, strip, out);
  if (strip == "/") out.push_back({key, "\"/\" would take nothing off"});
  const std::string& whole = route.path.empty() ? route.path_prefix : route.path;
  if (whole.empty() || whole == "/" || is_at_or_below(whole, strip)) return;
  if (route.path.empty() && is_at_or_below(strip, whole)) return;
  out.push_back({key, in_quotes(strip) + " is not where paths of this route begin",
                 std::format("they begin with {}", in_quotes(whole))});
}

// Where the authority of a URL ends: before it nothing of a client's path may stand but the whole.
size_t authority_end(std::string_view to) {
  const size_t scheme = to.find("://");
  if (scheme == std::string_view::npos) return 0;
  return std::min(to.find_first_of("/?#", scheme + 3), to.size());
}

}  // namespace

void check_rewrite(const RouteSettings& route, const std::string& base, Problems& out) {
  const RewriteSettings& s = route.rewrite;
  if (s.empty()) return;
  const std::string key = base + ".rewrite";
  if (route.pool.empty()) {
    out.push_back({key, "has no effect without pool", "redirect changes where clients are sent"});
  }
  const int ways = !s.strip_prefix.empty() + !s.prefix.empty() + !s.path.empty();
  if (ways > 1) {
    out.push_back({key, "has more than one of strip_prefix, prefix and path", "keep one"});
    return;
  }
  if (!s.strip_prefix.empty()) check_strip(route, base, out);
  if (!s.prefix.empty()) {
    check_path_text(key + ".prefix", s.prefix, out);
    if (!route.path_regex.empty()) {
      out.push_back({key + ".prefix",
                     "takes the place of path_prefix, and this route has a pattern",
                     "use rewrite = { path = \"/...${1}\" }"});
    }
  }
  if (!s.regex.empty() && s.path.empty()) {
    out.push_back({key + ".regex", "has no effect without path", "add path = \"/...${1}\""});
  }
  if (!s.regex.empty()) {
    if (auto compiled = Pattern::compile(s.regex); !compiled) {
      out.push_back({key + ".regex", compiled.error().message});
      return;
    }
  }
  if (!s.path.empty()) {
    if (!s.path.starts_with('/') && !s.path.starts_with("${path}") &&
        !s.path.starts_with("${rest}")) {
      out.push_back({key + ".path", in_quotes(s.path) + " does not begin with \"/\""});
    } else if (!is_url_text(s.path) || s.path.contains('#')) {
      out.push_back({key + ".path", in_quotes(s.path) + " has a byte that may not stand in a path",
                     "percent-encode it"});
    } else if (auto compiled = Rewrite::compile(route); !compiled) {
      out.push_back({key + ".path", compiled.error().message});
    }
  }
  if (!s.host.empty()) {
    Arena arena;
    if (!http::parse_authority(s.host, arena)) {
      out.push_back({key + ".host", in_quotes(s.host) + " is not a host",
                     "write a host, and a port where it needs one: \"app.internal:8080\""});
    }
  }
}

void check_redirect(const RouteSettings& route, const std::string& base, Problems& out) {
  const RedirectSettings& s = route.redirect;
  if (s.to.empty()) return;
  const std::string key = base + ".redirect";
  constexpr uint16_t kStatuses[] = {301, 302, 303, 307, 308};
  if (!std::ranges::contains(kStatuses, s.status)) {
    out.push_back({key + ".status", std::format("{} is no redirect", s.status),
                   "it may be 301, 302, 303, 307 or 308"});
  }
  const bool scheme = s.to.starts_with("https://") || s.to.starts_with("http://") ||
                      s.to.starts_with("${scheme}://");
  const bool path =
      (s.to.starts_with('/') && !s.to.starts_with("//")) || s.to.starts_with("${path}");
  if (!scheme && !path) {
    out.push_back({key + ".to", in_quotes(s.to) + " is neither a URL nor a path",
                   "write it as in \"https://www.example.com${path}\" or \"/new${rest}\""});
    return;
  }
  if (!is_url_text(s.to)) {
    out.push_back({key + ".to", in_quotes(s.to) + " has a byte that may not stand in a URL",
                   "percent-encode it"});
    return;
  }
  const auto compiled = Template::compile(s.to, Template::Use::url, kMaxGroups);
  if (compiled && scheme && compiled->has_group_before(authority_end(s.to))) {
    out.push_back({key + ".to", "lets a group of the pattern choose the host, and so each client",
                   "put a \"/\" before it"});
    return;
  }
  if (auto made = Redirect::compile(route); !made && route.path_regex.empty()) {
    out.push_back({key + ".to", made.error().message});
  } else if (!made && Pattern::compile(route.path_regex)) {
    out.push_back({key + ".to", made.error().message});
  }
}

}  // namespace pqedge::route
