#include "route/validate_shape.h"

#include <algorithm>
#include <format>

#include "base/text.h"
#include "route/header_rules.h"
#include "route/template.h"
#include "route/validate_rewrite.h"

namespace pqedge::route {
namespace {

using Side = HeaderRules::Side;

void check_name(const HeaderRule& rule, Side side, const std::string& key, Problems& out) {
  std::string_view name = rule.name;
  const bool removes = rule.kind == HeaderRule::Kind::remove;
  // Old peers that want a length with 101 (R21): the one exception, which has one value.
  if (side == Side::response && rule.kind == HeaderRule::Kind::set && rule.value == "0" &&
      http::known_name(name) == http::Name::content_length) {
    return;
  }
  if (removes && name.ends_with('*')) name.remove_suffix(1);
  if (!http::is_token(name)) {
    out.push_back(
        {key, in_quotes(rule.name) + " is no name of a header field", "write it as in \"X-Team\""});
  } else if (!is_changeable(rule.name, side)) {
    out.push_back({key,
                   in_quotes(rule.name) + " cannot be changed: it belongs to the connection or to "
                                          "the framing",
                   http::known_name(rule.name) == http::Name::host
                       ? "use rewrite = { host = \"...\" }"
                       : ""});
  }
}

void check_headers(const std::vector<HeaderRule>& rules, Side side, const std::string& list,
                   Problems& out) {
  for (size_t i = 0; i < rules.size(); ++i) {
    const HeaderRule& rule = rules[i];
    const std::string key = entry_key(list, i);
    const char* kind = rule.kind == HeaderRule::Kind::set   ? ".set"
                       : rule.kind == HeaderRule::Kind::add ? ".add"
                                                            : ".remove";
    if (rule.name.empty()) {
      out.push_back({key + kind, "is empty", "name the field"});
      continue;
    }
    check_name(rule, side, key + kind, out);
    if (rule.kind == HeaderRule::Kind::remove) continue;
    if (rule.value.empty()) {
      out.push_back({key + ".value", "is empty", "write remove = \"NAME\" to take the field out"});
    } else if (!http::is_field_value(rule.value)) {
      out.push_back({key + ".value", in_quotes(rule.value) + " is no value of a header field",
                     "no control bytes, and no blank at its ends"});
    } else if (auto compiled = Template::compile(rule.value, Template::Use::field); !compiled) {
      out.push_back({key + ".value", compiled.error().message});
    }
  }
}

void check_spelling(const RouteSettings& route, const std::string& base, Problems& out) {
  for (size_t i = 0; i < route.spelling.names.size(); ++i) {
    const std::string& name = route.spelling.names[i];
    const std::string key = entry_key(base + ".header_names", i);
    if (!http::is_token(name) || name.size() > 128) {
      out.push_back({key, in_quotes(name) + " is no name of a header field",
                     "write it as the peer wants it, as in \"SOAPAction\""});
      continue;
    }
    const auto same = [&](const std::string& other) { return iequals(other, name); };
    const auto end = route.spelling.names.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::any_of(route.spelling.names.begin(), end, same)) {
      out.push_back({key, in_quotes(name) + " is there twice"});
    }
  }
}

void check_canary(const RouteSettings& route, const std::string& base, Problems& out) {
  const CanarySettings& s = route.canary;
  if (!s.on()) return;
  const std::string key = base + ".canary";
  if (route.pool.empty()) {
    out.push_back({key, "has no effect without pool", "name the pool that has the other requests"});
  } else if (s.pool == route.pool) {
    out.push_back({key + ".pool", in_quotes(s.pool) + " is the pool of the route itself"});
  }
  if (!s.sticky_cookie.empty() && !s.sticky_header.empty()) {
    out.push_back({key, "has both sticky_cookie and sticky_header", "keep one"});
  }
  for (const auto& [name, text] : {std::pair{".sticky_cookie", &s.sticky_cookie},
                                   std::pair{".sticky_header", &s.sticky_header},
                                   std::pair{".override_header", &s.override_header}}) {
    if (!text->empty() && !http::is_token(*text)) {
      out.push_back(
          {key + name, in_quotes(*text) + " is not a token", "use letters, digits, '-' and '_'"});
    }
  }
  check_duration(out, key + ".cookie_lifetime", s.cookie_lifetime, kSecond, 400 * 86400 * kSecond);
  check_duration(out, key + ".rollback_window", s.rollback_window, kSecond, 86400 * kSecond);
  check_count(out, key + ".rollback_requests", s.rollback_min_requests, 1, 1'000'000);
}

void check_answer_text(const RouteSettings& route, const std::string& base, Problems& out) {
  if (route.answer_status == 0) {
    if (!route.answer_file.empty()) {
      out.push_back({base + ".body_file", "has no effect without status", "add status = 200"});
    }
    if (!route.answer_type.empty()) {
      out.push_back({base + ".content_type", "has no effect without status", "add status = 200"});
    }
    return;
  }
  if (!route.answer_file.empty() && !route.answer_body.empty()) {
    out.push_back({base + ".body_file", "is there beside body", "keep one"});
  }
  if (!route.answer_type.empty() &&
      (!http::is_field_value(route.answer_type) || !route.answer_type.contains('/'))) {
    out.push_back({base + ".content_type", in_quotes(route.answer_type) + " is no media type",
                   "write it as in \"text/html; charset=utf-8\""});
  }
}

}  // namespace

void check_shape(const RouteSettings& route, const std::string& base, Problems& out) {
  check_headers(route.header_rules.request, Side::request, base + ".request_headers", out);
  check_headers(route.header_rules.response, Side::response, base + ".response_headers", out);
  if (!route.header_rules.request.empty() && route.pool.empty()) {
    out.push_back({base + ".request_headers", "has no effect without pool"});
  }
  check_rewrite(route, base, out);
  check_redirect(route, base, out);
  check_spelling(route, base, out);
  check_canary(route, base, out);
  check_answer_text(route, base, out);
}

Problems validate(const HeaderSettings& headers) {
  Problems out;
  check_headers(headers.request, Side::request, "headers.request", out);
  check_headers(headers.response, Side::response, "headers.response", out);
  return out;
}

}  // namespace pqedge::route
