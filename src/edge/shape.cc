// The exchange as its route changes what passes: header rules, rewrites, spelling, error pages, the
// side of a canary.
#include "edge/exchange.h"
#include "edge/listener_view.h"
#include "edge/worker.h"

namespace pqedge::edge {

route::Scene Exchange::scene(uint16_t status) {
  return {.request = *request_,
          .facts = facts(),
          .identity = identity_,
          .arena = arena_,
          .target = came_target_,
          .authority = came_authority_,
          .route = plan_->name,
          .pool = target_->pool == SIZE_MAX ? std::string_view{}
                                            : std::string_view(pool().settings().name),
          .rest = plan_->settings == nullptr ? std::string_view{}
                                             : route::rest_behind(*plan_->settings, request_->path),
          .status = status};
}

void Exchange::choose_side() {
  const route::Canary::Side side = plan_->shape->canary->choose(*request_, facts().secure());
  set_cookie_ = side.set_cookie;
  on_canary_ = side.canary;
  if (on_canary_) use_target(plan_->shape->canary_target);
}

// After prepare_for_backend(): rules see the fields that the backend would get. False: answered.
bool Exchange::shape_request() {
  const RouteShape& shape = *plan_->shape;
  const route::Scene seen = scene(0);
  if (!shape.request.empty()) shape.request.apply(request_->fields, seen);
  if (shape.rewrite) {
    const auto target = shape.rewrite->target(seen);
    if (!target) {
      answer(target.error().status, "the rewritten path is none that a request may have");
      return false;
    }
    came_target_ = request_->target;
    came_authority_ = request_->authority;
    request_->target = *target;
    if (!shape.rewrite->host().empty()) request_->authority = shape.rewrite->host();
  }
  if (shape.spelling) shape.spelling->apply(request_->fields);
  return true;
}

void Exchange::shape_response(http::Response& response) {
  const RouteShape& shape = *plan_->shape;
  report_canary(response.status);
  if (!set_cookie_.empty()) response.fields.add(http::Name::set_cookie, set_cookie_);
  if (!shape.response.empty()) shape.response.apply(response.fields, scene(response.status));
  const bool http1 = request_->version <= http::Version::http11;
  if (shape.spelling && http1) shape.spelling->apply(response.fields);
}

bool Exchange::answer_page(uint16_t status, std::string_view reason, bool from_backend) {
  const content::ErrorPages& pages = *snapshot().error_pages;
  if (pages.empty()) return false;
  const content::ErrorPage* page = pages.find(plan_->name, status, from_backend);
  if (page == nullptr) return false;
  Fixed fixed;
  fixed.status = status;
  fixed.body = page->fill(
      {.status = status, .reason = http::reason_phrase(status), .request_id = identity_.request_id},
      arena_);
  fixed.content_type = page->content_type();
  answer_with(fixed, reason);
  return true;
}

// A page of ours goes out in the place of what a backend said of a failure.
bool Exchange::replace_error(Attempt& attempt) {
  const uint16_t status = attempt.response().status;
  if (snapshot().error_pages->find(plan_->name, status, true) == nullptr) return false;
  use_answer_of(attempt);
  attempt.abandon();
  return answer_page(status, "the answer of the backend was replaced", true);
}

// When the answer begins: a client that leaves before says nothing of the canary.
void Exchange::report_canary(uint16_t status) {
  if (on_canary_) plan_->shape->canary->report(status >= 500, worker_.loop().now());
}

}  // namespace pqedge::edge
