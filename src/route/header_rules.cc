#include "route/header_rules.h"

#include "base/text.h"
#include "http/protected_names.h"

namespace pqedge::route {
namespace {

using http::Name;

bool begins_alike(std::string_view name, std::string_view prefix, bool folded) {
  if (name.size() < prefix.size()) return false;
  const std::string_view start = name.substr(0, prefix.size());
  return folded ? http::folds_alike(start, prefix) : iequals(start, prefix);
}

}  // namespace

bool is_changeable(std::string_view name, HeaderRules::Side side) {
  switch (http::known_name(name)) {
    case Name::connection:
    case Name::content_length:
    case Name::http2_settings:
    case Name::keep_alive:
    case Name::proxy_connection:
    case Name::te:
    case Name::trailer:
    case Name::transfer_encoding:
    case Name::upgrade: return false;
    case Name::expect:  // answered here
    case Name::host:    // rewrite.host
      return side == HeaderRules::Side::response;
    default: return true;
  }
}

Result<HeaderRules> HeaderRules::compile(const std::vector<HeaderRule>& common,
                                         const std::vector<HeaderRule>& own, Side side) {
  HeaderRules out;
  out.side_ = side;
  for (const auto* list : {&common, &own}) {
    for (const HeaderRule& rule : *list) {
      Rule compiled;
      compiled.kind = rule.kind;
      compiled.prefix = rule.kind == HeaderRule::Kind::remove && rule.name.ends_with('*');
      compiled.name = compiled.prefix ? rule.name.substr(0, rule.name.size() - 1) : rule.name;
      if (!compiled.prefix) compiled.id = http::known_name(compiled.name);
      auto value = Template::compile(rule.value, Template::Use::field);
      if (!value) return std::unexpected(value.error());
      compiled.value = std::move(*value);
      out.rules_.push_back(std::move(compiled));
    }
  }
  return out;
}

bool HeaderRules::is_meant(const Rule& rule, const http::Field& field) const {
  const bool folded = side_ == Side::request;
  if (rule.prefix) {
    return begins_alike(field.name, rule.name, folded) && is_changeable(field.name, side_);
  }
  const bool same = rule.id != Name::other
                        ? field.id == rule.id
                        : field.id == Name::other && iequals(field.name, rule.name);
  if (rule.kind == HeaderRule::Kind::add) {
    return folded && !same && http::folds_alike(field.name, rule.name);
  }
  return same || (folded && http::folds_alike(field.name, rule.name));
}

void HeaderRules::remove(const Rule& rule, http::Fields& fields) const {
  fields.for_each_mutable([&](http::Field& f) { f.removed = is_meant(rule, f); });
}

void HeaderRules::apply(http::Fields& fields, const Scene& scene) const {
  for (const Rule& rule : rules_) {
    if (rule.id == Name::content_length) {
      // No body follows: it goes by its name alone, and not into the framing.
      if (scene.status == 101) fields.push({.name = rule.name, .value = "0"});
      continue;
    }
    // The value may speak of the field that it replaces.
    const std::string_view value = trim_ows(rule.value.fill(scene));
    remove(rule, fields);
    if (rule.kind == HeaderRule::Kind::remove || value.empty()) continue;
    if (!http::is_field_value(value)) continue;  // no variable has such bytes
    fields.push({.name = rule.name, .value = value, .id = rule.id});
  }
}

void HeaderRules::strip_trailers(http::Fields& trailers) const {
  for (const Rule& rule : rules_) {
    trailers.for_each_mutable([&](http::Field& f) {
      const bool added = rule.kind == HeaderRule::Kind::add;
      f.removed = is_meant(rule, f) || (added && http::folds_alike(f.name, rule.name));
    });
  }
}

}  // namespace pqedge::route
