#include "route/rewrite.h"

#include <algorithm>

#include "base/problem.h"

namespace pqedge::route {
namespace {

using Groups = std::array<std::string_view, kMaxGroups>;

std::string_view without_slash(std::string_view prefix) {
  return prefix.ends_with('/') ? prefix.substr(0, prefix.size() - 1) : prefix;
}

bool is_at_or_below(std::string_view path, std::string_view prefix) {
  return path.starts_with(prefix) && (path.size() == prefix.size() || path[prefix.size()] == '/');
}

// "?a=b" of the target, as it came; empty when there is none.
std::string_view query_with_mark(std::string_view target) {
  const size_t mark = target.find('?');
  return mark == std::string_view::npos ? std::string_view{} : target.substr(mark);
}

// A second slash at its front would make the path the name of a host (RFC 3986 4.2).
std::string_view with_one_slash(std::string_view path) {
  while (path.starts_with("//")) path.remove_prefix(1);
  return path;
}

Result<std::optional<Pattern>> pattern_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  auto compiled = Pattern::compile(text);
  if (!compiled) return std::unexpected(compiled.error());
  return std::move(*compiled);
}

size_t groups_of(const std::optional<Pattern>& pattern) {
  return pattern ? std::min(pattern->group_count(), kMaxGroups) : 0;
}

}  // namespace

std::string_view rest_behind(const RouteSettings& route, std::string_view path) {
  if (!route.path.empty()) return {};
  const std::string_view prefix = without_slash(route.path_prefix);
  return is_at_or_below(path, prefix) ? path.substr(prefix.size()) : std::string_view{};
}

// ---- toward the backend ------------------------------------------------------------------------

Result<Rewrite> Rewrite::compile(const RouteSettings& route) {
  const RewriteSettings& s = route.rewrite;
  Rewrite out;
  out.host_ = s.host;
  if (!s.strip_prefix.empty()) {
    out.kind_ = Kind::strip;
    out.base_ = without_slash(s.strip_prefix);
  } else if (!s.prefix.empty()) {
    out.kind_ = Kind::replace;
    out.base_ = s.prefix;
    out.prefix_ = (route.path.empty() ? without_slash(route.path_prefix) : route.path).size();
  } else if (!s.path.empty()) {
    out.kind_ = Kind::whole;
    auto pattern = pattern_of(s.regex.empty() ? route.path_regex : s.regex);
    if (!pattern) return std::unexpected(pattern.error());
    out.pattern_ = std::move(*pattern);
    auto path = Template::compile(s.path, Template::Use::url, groups_of(out.pattern_));
    if (!path) return std::unexpected(path.error());
    out.path_ = std::move(*path);
  }
  return out;
}

std::string_view Rewrite::with_rest(std::string_view base, size_t behind,
                                    const Scene& scene) const {
  const std::string_view target = scene.request.target;
  const std::string_view raw = target.substr(0, target.find('?'));
  const std::string_view rest = with_one_slash(http::raw_behind(raw, behind));
  // "/v2/" and "/x" are "/v2/x".
  if (!rest.empty()) base = without_slash(base);
  return scene.arena.concat(base, rest.empty() && base.empty() ? "/" : rest,
                            query_with_mark(target));
}

std::expected<std::string_view, http::Refusal> Rewrite::from_template(const Scene& scene) const {
  Groups groups;
  if (pattern_ && !pattern_->groups(scene.request.path, groups)) return scene.request.target;
  Scene filled = scene;
  filled.groups = groups;
  const std::string_view text = path_.fill(filled);
  const size_t mark = std::min(text.find('?'), text.size());
  const auto path = http::canonical_path(text.substr(0, mark), scene.arena);
  if (!path) return std::unexpected(path.error());
  const std::string_view query = query_with_mark(scene.request.target);
  if (mark == text.size()) return scene.arena.concat(*path, query);
  // Ours goes first: of a parameter that is there twice, most backends take that.
  return scene.arena.concat(*path, text.substr(mark), query.size() > 1 ? "&" : "",
                            query.substr(std::min<size_t>(1, query.size())));
}

std::expected<std::string_view, http::Refusal> Rewrite::target(const Scene& scene) const {
  const std::string_view path = scene.request.path;
  if (!path.starts_with('/')) return scene.request.target;  // "*"
  switch (kind_) {
    case Kind::none: return scene.request.target;
    case Kind::strip:
      return is_at_or_below(path, base_) ? with_rest("", base_.size(), scene)
                                         : scene.request.target;
    case Kind::replace: return with_rest(base_, prefix_, scene);
    case Kind::whole: return from_template(scene);
  }
  return scene.request.target;
}

// ---- to another URL ----------------------------------------------------------------------------

Result<Redirect> Redirect::compile(const RouteSettings& route) {
  const RedirectSettings& s = route.redirect;
  Redirect out;
  out.status_ = s.status;
  out.keep_query_ = s.keep_query;
  auto pattern = pattern_of(route.path_regex);
  if (!pattern) return std::unexpected(pattern.error());
  out.pattern_ = std::move(*pattern);
  auto to = Template::compile(s.to, Template::Use::url, groups_of(out.pattern_));
  if (!to) return std::unexpected(to.error());
  out.to_ = std::move(*to);
  out.relative_ = !s.to.contains("://");
  return out;
}

std::expected<std::string_view, http::Refusal> Redirect::location(const Scene& scene) const {
  const http::Request& r = scene.request;
  if (!r.path.starts_with('/') || r.host.empty()) {
    return std::unexpected(http::Refusal{400, "no host or path to redirect from"});
  }
  Groups groups;
  if (pattern_) pattern_->groups(r.path, groups);
  Scene filled = scene;
  filled.groups = groups;
  std::string_view text = to_.fill(filled);
  if (relative_) text = with_one_slash(text);
  if (!keep_query_ || r.query.empty()) return text;
  const size_t hash = std::min(text.find('#'), text.size());
  const std::string_view before = text.substr(0, hash);
  const std::string_view join = before.contains('?') ? "&" : "?";
  return scene.arena.concat(before, join, r.query, text.substr(hash));
}

}  // namespace pqedge::route
