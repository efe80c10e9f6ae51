// What the backend is asked for instead of what came, and where a client is sent instead (R3).
#pragma once

#include <array>
#include <expected>
#include <memory>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "http/uri.h"
#include "route/pattern.h"
#include "route/settings.h"
#include "route/template.h"

namespace pqedge::route {

// What is behind the route's path_prefix in a canonical path: "" or "/...".
std::string_view rest_behind(const RouteSettings& route, std::string_view path);

// Immutable; safe to share between workers. A prefix that is taken off or replaced leaves the bytes
// behind it as they came; what is made by a template is made of the canonical path.
class Rewrite {
 public:
  static Result<Rewrite> compile(const RouteSettings& route);

  // The target for the backend. Refused when a template makes a path of a request that no request
  // may have: with a dot segment (K64).
  std::expected<std::string_view, http::Refusal> target(const Scene& scene) const;
  std::string_view host() const { return host_; }  // empty: as it came

 private:
  std::string_view with_rest(std::string_view base, size_t behind, const Scene& scene) const;
  std::expected<std::string_view, http::Refusal> from_template(const Scene& scene) const;

  enum class Kind : uint8_t { none, strip, replace, whole };
  Kind kind_ = Kind::none;
  std::string base_;   // of strip: what is taken off; of replace: what is put there
  size_t prefix_ = 0;  // of replace: how long the route's prefix is
  Template path_;
  std::optional<Pattern> pattern_;
  std::string host_;
};

class Redirect {
 public:
  static Result<Redirect> compile(const RouteSettings& route);

  // The Location. Refused for a request without a path or a host that it needs.
  std::expected<std::string_view, http::Refusal> location(const Scene& scene) const;
  uint16_t status() const { return status_; }

 private:
  Template to_;
  std::optional<Pattern> pattern_;
  uint16_t status_ = 302;
  bool keep_query_ = true;
  bool relative_ = false;
};

}  // namespace pqedge::route
