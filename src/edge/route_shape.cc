#include "edge/route_shape.h"

#include <algorithm>

#include "content/error_pages.h"

namespace pqedge::edge {
namespace {

using Side = route::HeaderRules::Side;

bool changes_something(const route::RouteSettings& r) {
  return !r.header_rules.empty() || !r.rewrite.empty() || !r.redirect.to.empty() ||
         !r.spelling.empty() || r.answer_status != 0 || r.canary.on();
}

Result<void> compile_headers(const Settings& settings, const route::HeaderSettings& own,
                             RouteShape& out) {
  auto request =
      route::HeaderRules::compile(settings.header_rules.request, own.request, Side::request);
  if (!request) return std::unexpected(request.error());
  out.request = std::move(*request);
  auto response =
      route::HeaderRules::compile(settings.header_rules.response, own.response, Side::response);
  if (!response) return std::unexpected(response.error());
  out.response = std::move(*response);
  return {};
}

Result<void> compile_answer(const route::RouteSettings& r, RouteShape& out) {
  out.answer_body = r.answer_body;
  if (!r.answer_file.empty()) {
    auto text = content::read_page_file(r.answer_file);
    if (!text) return std::unexpected(text.error());
    out.answer_body = std::move(*text);
  }
  out.answer_type =
      r.answer_type.empty() ? std::string(content::content_type_of(r.answer_file)) : r.answer_type;
  return {};
}

Result<void> add_canary(const Settings& settings, const route::RouteSettings& r,
                        const std::shared_ptr<route::Canary>& earlier, RouteShape& out) {
  const auto& pools = settings.pools;
  const auto pool = std::ranges::find(pools, r.canary.pool, &upstream::PoolSettings::name);
  if (pool == pools.end()) return fail("no pool is named '{}'", r.canary.pool);
  out.canary_target = make_target(static_cast<size_t>(pool - pools.begin()), *pool, r.forward);
  // Requests of the configuration before are still counted where theirs was the same.
  out.canary = earlier != nullptr && earlier->settings() == r.canary
                   ? earlier
                   : std::make_shared<route::Canary>(r.canary, r.name);
  return {};
}

Result<void> fill(const Settings& settings, const route::RouteSettings& r,
                  const std::shared_ptr<route::Canary>& earlier, RouteShape& out) {
  if (auto ok = compile_headers(settings, r.header_rules, out); !ok) return ok;
  if (!r.rewrite.empty()) {
    auto rewrite = route::Rewrite::compile(r);
    if (!rewrite) return std::unexpected(rewrite.error());
    out.rewrite = std::move(*rewrite);
  }
  if (!r.redirect.to.empty()) {
    auto redirect = route::Redirect::compile(r);
    if (!redirect) return std::unexpected(redirect.error());
    out.redirect = std::move(*redirect);
  }
  if (!r.spelling.empty()) out.spelling.emplace(r.spelling);
  if (r.answer_status != 0) {
    if (auto ok = compile_answer(r, out); !ok) return ok;
  }
  if (r.canary.on()) return add_canary(settings, r, earlier, out);
  return {};
}

}  // namespace

Result<std::shared_ptr<const RouteShape>> make_common_shape(const Settings& settings) {
  if (settings.header_rules.empty()) return nullptr;
  auto shape = std::make_shared<RouteShape>();
  if (auto ok = compile_headers(settings, {}, *shape); !ok) return std::unexpected(ok.error());
  return shape;
}

Result<std::shared_ptr<const RouteShape>> make_shape(
    const Settings& settings, const route::RouteSettings& route,
    const std::shared_ptr<const RouteShape>& common,
    const std::shared_ptr<route::Canary>& earlier) {
  if (!changes_something(route)) return common;
  auto shape = std::make_shared<RouteShape>();
  if (auto ok = fill(settings, route, earlier, *shape); !ok) {
    return fail("route '{}': {}", route.name, ok.error().message);
  }
  return shape;
}

}  // namespace pqedge::edge
