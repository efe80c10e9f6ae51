// How a route changes what passes, and what it answers itself: compiled when the configuration
// loads. A route that changes nothing has none.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "edge/settings.h"
#include "edge/target.h"
#include "route/canary.h"
#include "route/header_rules.h"
#include "route/rewrite.h"
#include "route/spelling.h"

namespace pqedge::edge {

struct RouteShape {
  route::HeaderRules request;   // toward the backend
  route::HeaderRules response;  // of every answer to the client
  std::optional<route::Rewrite> rewrite;
  std::optional<route::Redirect> redirect;
  std::optional<route::Spelling> spelling;
  std::string answer_body;  // of a fixed answer
  std::string answer_type;
  std::shared_ptr<route::Canary>
      canary;  // one for all workers and, while its settings stay, reloads
  Target canary_target;
};

// Of requests that no route takes, and of routes that add nothing to it. Null: all stays as it is.
Result<std::shared_ptr<const RouteShape>> make_common_shape(const Settings& settings);

// `common` where the route has nothing of its own. `earlier`: the canary that the route had in the
// configuration before; null: none.
Result<std::shared_ptr<const RouteShape>> make_shape(
    const Settings& settings, const route::RouteSettings& route,
    const std::shared_ptr<const RouteShape>& common, const std::shared_ptr<route::Canary>& earlier);

}  // namespace pqedge::edge
