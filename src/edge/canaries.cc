#include "edge/canaries.h"

#include <format>

#include "base/problem.h"
#include "base/text.h"
#include "edge/snapshot.h"

namespace pqedge::edge {

std::string canaries_json(const Snapshot& snapshot, Nanos now) {
  std::string out = "[";
  for (const auto& canary : snapshot.canaries()) {
    const auto without_sign = [](uint32_t share) {
      std::string text = route::share_text(share);
      text.pop_back();
      return text;
    };
    const route::Canary::Window seen = canary->window(now);
    // Names of routes and pools are labels: nothing in them is to be escaped.
    out += std::format(
        "{}{{\"route\":\"{}\",\"pool\":\"{}\",\"percent\":{},\"configured_percent\":{},"
        "\"state\":\"{}\",\"window_requests\":{},\"window_errors\":{}}}",
        out.size() > 1 ? "," : "", canary->route(), canary->settings().pool,
        without_sign(canary->share()), without_sign(canary->settings().share),
        canary->rolled_back()  ? "rolled_back"
        : canary->share() == 0 ? "off"
                               : "on",
        seen.requests, seen.errors);
  }
  return out + "]";
}

Result<std::string> set_canary(const Snapshot& snapshot, std::string_view route,
                               std::string_view percent) {
  const auto canary = snapshot.canary_of(route);
  if (canary == nullptr) {
    return fail("there is no route {} with a canary", in_quotes(route));
  }
  const auto share =
      percent == "rollback" ? std::optional<uint32_t>(0) : route::parse_share(percent);
  if (!share) {
    return fail(
        "{} is no percentage: write percent=0 to percent=100, as in percent=2.5, or "
        "percent=rollback",
        in_quotes(percent));
  }
  canary->set_share(*share);
  return std::format("route {}: {} of its requests go to pool {}", route, route::share_text(*share),
                     canary->settings().pool);
}

}  // namespace pqedge::edge
