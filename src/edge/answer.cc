// Answers of our own: refusals, failures, fixed answers, redirects.
#include <format>

#include "edge/exchange.h"
#include "edge/listener_view.h"
#include "edge/worker.h"

namespace pqedge::edge {
namespace {

// One plain sentence a status, for the person who sees it.
std::string_view explain(uint16_t status) {
  switch (status) {
    case 400: return "The request could not be understood.";
    case 403: return "This address is not for everyone, and not for you as you came.";
    case 404: return "Nothing is served at this address.";
    case 405: return "This method is not allowed.";
    case 408: return "The request took too long to arrive.";
    case 413: return "The request body is larger than allowed.";
    case 414: return "The address is longer than allowed.";
    case 417: return "The expectation cannot be met.";
    case 421: return "This connection does not serve that address.";
    case 431: return "The request header is larger than allowed.";
    case 501: return "This method is not supported.";
    case 502: return "The server behind this address gave no valid answer.";
    case 503: return "No server is free to answer now.";
    case 504: return "The server behind this address did not answer in time.";
    case 505: return "This HTTP version is not supported.";
    case 508: return "The request came back to this proxy.";
    default: return "";
  }
}

}  // namespace

void Exchange::answer(uint16_t status, std::string_view reason) {
  if (identity_.request_id.empty() && request_.has_value()) {
    identity_ = http::identify(*request_, facts(), snapshot().settings.identity);
  }
  if (status >= 400 && answer_grpc(status, reason)) return;
  if (status >= 400 && answer_page(status, reason, false)) return;
  const std::string_view line = explain(status);
  char code[8];
  const auto end = std::format_to_n(code, sizeof code, "{}", status).out;
  Fixed fixed;
  fixed.status = status;
  fixed.body = arena_.concat(std::string_view(code, static_cast<size_t>(end - code)), " ",
                             http::reason_phrase(status), line.empty() ? "" : "\n", line,
                             "\nRequest ID: ", identity_.request_id, "\n");
  answer_with(fixed, reason);
}

void Exchange::answer_with(const Fixed& fixed, std::string_view reason) {
  drop_attempts();
  if (stream_ == nullptr) return;
  reason_ = reason;
  status_ = fixed.status;
  response_started_ = response_done_ = true;

  response_.emplace(arena_);
  http::Response& r = *response_;
  r.version = request_->version;
  r.status = fixed.status;
  r.fields.add(http::Name::date, arena_.copy(http::http_date()));
  const bool has_body = http::response_has_body(http::Method::get, fixed.status);
  if (has_body) {
    r.fields.add(http::Name::content_type, fixed.content_type);
    r.body = http::BodyKind::length;
    r.content_length = fixed.body.size();
  }
  if (!fixed.location.empty()) r.fields.add(http::Name::location, fixed.location);
  if (!fixed.allow.empty()) r.fields.push({"Allow", fixed.allow});
  if (fixed.status >= 400) r.fields.add(http::Name::cache_control, "no-store");
  if (!identity_.request_id.empty()) {
    r.fields.add(http::Name::x_request_id, identity_.request_id);
  }
  if (const auto alt_svc = listener_->alt_svc_for(facts()); !alt_svc.empty()) {
    r.fields.add(http::Name::alt_svc, alt_svc);
  }
  if (plan_->shape != nullptr) shape_response(r);

  stop_request_body();
  const bool send_body = has_body && request_->method != http::Method::head && !fixed.body.empty();
  if (stream_ == nullptr) return;
  if (!send_body) {
    stream_->send_head(r, true);
    return;
  }
  stream_->send_head(r, false);
  copy_to_slices(as_bytes(fixed.body), [&](Slice s) {
    if (stream_ != nullptr) stream_->send_body(std::move(s));
  });
  if (stream_ != nullptr) stream_->send_end(nullptr);
}

}  // namespace pqedge::edge
