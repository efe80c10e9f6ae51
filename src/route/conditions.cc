#include "route/conditions.h"

#include <algorithm>
#include <format>

#include "base/problem.h"
#include "base/text.h"

namespace pqedge::route {
namespace {

// A name or value of application/x-www-form-urlencoded (WHATWG URL 5.1), decoded; a view of the
// input when there is nothing to decode, else of the buffer, which grows no larger than a head may
// be. What is no valid escape stays as it is.
std::string_view decoded(std::string_view raw, std::string& buffer) {
  if (raw.find_first_of("%+") == std::string_view::npos) return raw;
  buffer.clear();
  for (size_t i = 0; i < raw.size(); ++i) {
    if (const int byte = percent_byte(raw.substr(i)); byte >= 0) {
      buffer += static_cast<char>(byte);
      i += 2;
    } else {
      buffer += raw[i] == '+' ? ' ' : raw[i];
    }
  }
  return buffer;
}

// visit(name, value) of each parameter, still encoded, until it returns true; whether one did.
template <typename Visit>
bool any_parameter(std::string_view query, Visit&& visit) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    if (pair.empty()) continue;
    const size_t equals = std::min(pair.find('='), pair.size());
    const std::string_view value = pair.substr(std::min(equals + 1, pair.size()));
    if (visit(pair.substr(0, equals), value)) return true;
  }
  return false;
}

}  // namespace

std::string to_text(const ValueMatch& match) {
  switch (match.kind) {
    case ValueMatch::Kind::present: return "is there";
    case ValueMatch::Kind::absent: return "is absent";
    case ValueMatch::Kind::exact: return "is " + in_quotes(match.value);
    case ValueMatch::Kind::prefix: return "begins with " + in_quotes(match.value);
    case ValueMatch::Kind::regex: return "matches " + in_quotes(match.value);
  }
  return {};
}

bool Conditions::Value::accepts(std::string_view value) const {
  switch (match.kind) {
    case ValueMatch::Kind::present:
    case ValueMatch::Kind::absent: return true;
    case ValueMatch::Kind::exact: return value == match.value;
    case ValueMatch::Kind::prefix: return value.starts_with(match.value);
    case ValueMatch::Kind::regex: return pattern->matches(value);
  }
  return false;
}

Result<std::vector<Conditions::Value>> Conditions::compile(const std::vector<ValueMatch>& matches) {
  std::vector<Value> values;
  for (const ValueMatch& match : matches) {
    Value value{.match = match, .id = http::known_name(match.name)};
    if (match.kind == ValueMatch::Kind::regex) {
      auto pattern = Pattern::compile(match.value);
      if (!pattern) return std::unexpected(pattern.error());
      value.pattern = std::move(*pattern);
    }
    values.push_back(std::move(value));
  }
  return values;
}

Result<Conditions> Conditions::compile(const RouteSettings& settings) {
  Conditions c;
  c.methods_ = settings.methods;
  c.clients_ = settings.clients;
  auto headers = compile(settings.headers);
  if (!headers) return std::unexpected(headers.error());
  c.headers_ = std::move(*headers);
  auto query = compile(settings.query);
  if (!query) return std::unexpected(query.error());
  c.query_ = std::move(*query);
  return c;
}

bool Conditions::field_holds(const Value& value, const http::Fields& fields) {
  bool there = false;
  bool accepted = false;
  for (const http::Field& field : fields.raw()) {
    if (field.removed || field.id != value.id) continue;
    if (value.id == http::Name::other && !iequals(field.name, value.match.name)) continue;
    there = true;
    if (value.accepts(field.value)) {
      accepted = true;
      break;
    }
  }
  return value.match.kind == ValueMatch::Kind::absent ? !there : accepted;
}

bool Conditions::parameter_holds(const Value& value, const http::Request& request) {
  static thread_local std::string buffer;
  const bool there = any_parameter(request.query, [&](std::string_view name, std::string_view v) {
    return decoded(name, buffer) == value.match.name && value.accepts(decoded(v, buffer));
  });
  return value.match.kind == ValueMatch::Kind::absent ? !there : there;
}

bool Conditions::method_holds(const Subject& subject) const {
  return methods_.empty() || std::ranges::contains(methods_, subject.request.method_text);
}

bool Conditions::headers_hold(const Subject& subject) const {
  return std::ranges::all_of(
      headers_, [&](const Value& value) { return field_holds(value, subject.request.fields); });
}

bool Conditions::query_holds(const Subject& subject) const {
  return std::ranges::all_of(
      query_, [&](const Value& value) { return parameter_holds(value, subject.request); });
}

bool Conditions::client_holds(const Subject& subject) const {
  if (clients_.empty()) return true;
  const auto client = net::Address::from_ip(subject.client_ip, 0);
  return client &&
         std::ranges::any_of(clients_, [&](const net::Network& n) { return n.contains(*client); });
}

std::string Conditions::failed(const Subject& subject) const {
  if (!method_holds(subject)) {
    return std::format("the method {} is not one of its methods",
                       in_quotes(subject.request.method_text));
  }
  for (const Value& value : headers_) {
    if (!field_holds(value, subject.request.fields)) {
      return std::format("it wants that the field {} {}", value.match.name, to_text(value.match));
    }
  }
  for (const Value& value : query_) {
    if (!parameter_holds(value, subject.request)) {
      return std::format("it wants that the parameter {} {}", in_quotes(value.match.name),
                         to_text(value.match));
    }
  }
  if (client_holds(subject)) return {};
  return subject.client_ip.empty()
             ? std::string("the client's address is not known")
             : std::format("the client {} is in none of its networks", subject.client_ip);
}

Conditions::Rank Conditions::rank() const {
  return {.method = !methods_.empty(),
          .fields = headers_.size(),
          .parameters = query_.size(),
          .client = !clients_.empty()};
}

}  // namespace pqedge::route
