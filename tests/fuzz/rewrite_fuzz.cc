// Rewrites and redirects of a client's path: whatever it sends, a rewritten path begins with one
// slash, holds no dot segment, and says what the canonical path says behind the prefix.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "http/uri.h"
#include "route/rewrite.h"
#include "route/template.h"

namespace {

using namespace pqedge;

void require(bool holds) {
  if (!holds) std::abort();
}

route::RouteSettings settings(route::RewriteSettings rewrite, std::string regex) {
  route::RouteSettings r;
  r.path_regex = std::move(regex);
  r.rewrite = std::move(rewrite);
  r.redirect.to = "/${1}";
  return r;
}

void check_behind(std::string_view raw, std::string_view path, Arena& arena) {
  for (size_t at = 1; at < path.size(); ++at) {
    if (path[at] != '/') continue;
    std::string_view rest = http::raw_behind(raw, at);
    while (rest.starts_with("//")) rest.remove_prefix(1);
    const auto again = http::canonical_path(rest, arena);
    require(again.has_value() && *again == path.substr(at));
  }
}

void check_target(std::string_view target, Arena& arena) {
  require(target.starts_with('/') && !target.starts_with("//"));
  require(http::canonical_path(target.substr(0, target.find('?')), arena).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto strip = route::Rewrite::compile(settings({.strip_prefix = "/a"}, ""));
  static const auto whole =
      route::Rewrite::compile(settings({.path = "/x/${1}.${2}?y=${1}"}, "/a(.*)-(.*)"));
  static const auto redirect = route::Redirect::compile(settings({}, "/a(.*)"));
  require(strip && whole && redirect);
  if (size > 4096) return 0;
  const std::string text(reinterpret_cast<const char*>(data), size);
  Arena arena;
  http::Request request(arena);
  request.version = http::Version::http2;
  request.method = http::Method::get;
  request.authority = "a.test";
  request.target = text;
  request.fields.add("Cookie", text);
  require(route::cookie(request.fields, "side").size() < text.size() + 1);
  if (!http::canonicalise(request) || !request.path.starts_with('/')) return 0;
  check_behind(request.target.substr(0, request.target.find('?')), request.path, arena);

  const net::ConnectionFacts facts;
  const http::Identity identity;
  const route::Scene scene{
      .request = request, .facts = facts, .identity = identity, .arena = arena};
  const auto stripped = strip->target(scene);
  require(stripped.has_value());
  if (*stripped != request.target) check_target(*stripped, arena);
  const auto made = whole->target(scene);
  if (made && *made != request.target) check_target(*made, arena);
  const auto location = redirect->location(scene);
  require(location && (location->empty() || !location->starts_with("//")));
  return 0;
}
