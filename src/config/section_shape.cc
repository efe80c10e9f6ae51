// How routes change what passes: header rules, rewrites, redirects, spelling; canaries; error
// pages.
#include <algorithm>
#include <format>
#include <utility>
#include <vector>

#include "base/text.h"
#include "config/section_readers.h"
#include "route/canary.h"

namespace pqedge::config {
namespace {

// { set = "X-Client", value = "${client_ip}" }: with one of set, add and remove.
void read_header_rule(Table& t, route::HeaderRule& rule) {
  using Kind = route::HeaderRule::Kind;
  std::vector<const char*> ways;
  for (const auto& [key, kind] : {std::pair{"set", Kind::set}, std::pair{"add", Kind::add},
                                  std::pair{"remove", Kind::remove}}) {
    t.read(key, rule.name);
    if (!t.has(key)) continue;
    ways.push_back(key);
    rule.kind = kind;
  }
  t.read("value", rule.value);
  const char* hint = "give it one of set, add and remove, as in { set = \"X-A\", value = \"b\" }";
  if (ways.empty() && !t.absent()) t.problem(t.key_path("set"), "is missing", hint);
  if (ways.size() > 1) {
    t.problem(t.key_path(ways[1]), std::format("is there beside {}", ways[0]), hint);
  }
  if (ways.size() == 1 && rule.kind == Kind::remove && t.has("value")) {
    t.problem(t.key_path("value"), "has no effect beside remove");
  }
  if (ways.size() == 1 && rule.kind != Kind::remove) {
    t.require("value", "write value = \"...\", or remove = \"NAME\" to take the field out");
  }
}

void read_header_rules(Table& t, std::string_view key, std::vector<route::HeaderRule>& out) {
  t.tables(key, [&](Table& entry, size_t) { read_header_rule(entry, out.emplace_back()); });
}

void refuse_empty(Table& t, std::initializer_list<std::pair<const char*, const std::string*>> all) {
  for (const auto& [key, text] : all) {
    if (t.has(key) && text->empty()) {
      t.problem(t.key_path(key), "is empty", "leave it out, or give it a value");
    }
  }
}

void read_rewrite(Table& t, route::RewriteSettings& s) {
  t.read("strip_prefix", s.strip_prefix);
  t.read("prefix", s.prefix);
  t.read("path", s.path);
  t.read("regex", s.regex);
  t.read("host", s.host);
  refuse_empty(t, {{"strip_prefix", &s.strip_prefix},
                   {"prefix", &s.prefix},
                   {"path", &s.path},
                   {"regex", &s.regex},
                   {"host", &s.host}});
}

void read_redirect(Table& t, route::RedirectSettings& s) {
  t.read("to", s.to);
  t.require("to", "write redirect = { to = \"https://www.example.com${path}\" }");
  t.count("status", s.status);
  t.read("keep_query", s.keep_query);
  refuse_empty(t, {{"to", &s.to}});
}

// A whole number, or a text with up to two decimals.
void read_percent(Table& t, std::string_view key, uint32_t& out) {
  t.each(key, [&](const std::string& path, const Node& value) {
    const std::string text = value.type == Node::Type::string    ? value.text
                             : value.type == Node::Type::integer ? std::to_string(value.integer)
                                                                 : std::string();
    if (const auto share = route::parse_share(text)) {
      out = *share;
    } else {
      t.problem(path, "is no percentage", "write 0 to 100, or with decimals as text: \"2.5\"");
    }
  });
}

void read_canary(Table& t, route::CanarySettings& s) {
  t.read("pool", s.pool);
  t.require("pool", "name the pool that gets a part of the requests");
  read_percent(t, "percent", s.share);
  t.require("percent", "write percent = 5");
  t.read("sticky_cookie", s.sticky_cookie);
  t.read("sticky_header", s.sticky_header);
  t.duration("cookie_lifetime", s.cookie_lifetime);
  t.read("override_header", s.override_header);
  read_percent(t, "rollback_errors", s.rollback_errors);
  t.count("rollback_requests", s.rollback_min_requests);
  t.duration("rollback_window", s.rollback_window);
  refuse_empty(t, {{"pool", &s.pool},
                   {"sticky_cookie", &s.sticky_cookie},
                   {"sticky_header", &s.sticky_header},
                   {"override_header", &s.override_header}});
  if (t.has("cookie_lifetime") && s.sticky_cookie.empty()) {
    t.problem(t.key_path("cookie_lifetime"), "has no effect without sticky_cookie");
  }
  for (const char* key : {"rollback_requests", "rollback_window"}) {
    if (t.has(key) && s.rollback_errors == 0) {
      t.problem(t.key_path(key), "has no effect without rollback_errors");
    }
  }
}

// 404, "404", "4xx" or "5xx".
void read_statuses(Table& t, std::vector<content::StatusRange>& out) {
  t.each("status", [&](const std::string& path, const Node& value) {
    const std::string text = value.type == Node::Type::string    ? value.text
                             : value.type == Node::Type::integer ? std::to_string(value.integer)
                                                                 : std::string();
    const auto number = parse_decimal(text);
    if (number && *number >= 100 && *number <= 999) {
      const auto status = static_cast<uint16_t>(*number);
      out.push_back({status, status});
    } else if (text == "4xx" || text == "5xx") {
      const auto first = static_cast<uint16_t>((text[0] - '0') * 100);
      out.push_back({first, static_cast<uint16_t>(first + 99)});
    } else {
      t.problem(path, "is no status", "write 404, \"4xx\" or \"5xx\"");
      out.push_back({400, 400});  // so that later entries keep their index
    }
  });
}

}  // namespace

void read_route_shape(Table& t, route::RouteSettings& s) {
  read_header_rules(t, "request_headers", s.header_rules.request);
  read_header_rules(t, "response_headers", s.header_rules.response);
  t.table("rewrite", [&](Table& rewrite) { read_rewrite(rewrite, s.rewrite); });
  t.table("redirect", [&](Table& redirect) { read_redirect(redirect, s.redirect); });
  t.table("canary", [&](Table& canary) { read_canary(canary, s.canary); });
  t.choice<bool>("header_case", s.spelling.words, {{"keep", false}, {"words", true}});
  t.strings("header_names", s.spelling.names);
  t.path("body_file", s.answer_file);
  t.read("content_type", s.answer_type);
  t.size("max_head", s.max_head);
  if (t.has("max_head") && s.max_head == 0) {
    t.problem(t.key_path("max_head"), "is 0, which no request fits", "leave it out for no limit");
  }
}

void read_headers(Table& t, route::HeaderSettings& s) {
  read_header_rules(t, "request", s.request);
  read_header_rules(t, "response", s.response);
}

void read_error_page(Table& t, content::ErrorPageSettings& s) {
  read_statuses(t, s.statuses);
  t.strings("routes", s.routes);
  t.path("file", s.file);
  t.read("body", s.body);
  t.read("content_type", s.content_type);
  t.read("backend_errors", s.backend_errors);
  if (t.has("routes") && s.routes.empty()) {
    t.problem(t.key_path("routes"), "is empty", "leave it out for every route");
  }
}

}  // namespace pqedge::config
