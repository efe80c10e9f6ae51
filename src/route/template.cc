#include "route/template.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "base/problem.h"
#include "base/text.h"

namespace pqedge::route {
namespace {

enum Variable : uint8_t {
  literal,
  group,
  field,
  cookie_value,
  alpn,
  authority,
  cipher,
  client_fingerprint,
  client_ip,
  client_port,
  client_subject,
  client_verified,
  host,
  http_version,
  key_exchange_group,
  local_ip,
  local_port,
  method,
  path,
  pool,
  port,
  post_quantum,
  query,
  request_id,
  rest,
  route_name,
  scheme,
  sni,
  status,
  target,
  tls_version,
};

struct Known {
  std::string_view name;
  Variable variable;
  bool url = false;  // its value fits into a URL whatever a client sends
};

constexpr std::array kKnown = {
    Known{"alpn", alpn},
    Known{"authority", authority, true},
    Known{"cipher", cipher},
    Known{"client_fingerprint", client_fingerprint},
    Known{"client_ip", client_ip},
    Known{"client_port", client_port},
    Known{"client_subject", client_subject},
    Known{"client_verified", client_verified},
    Known{"group", key_exchange_group},
    Known{"host", host, true},
    Known{"http_version", http_version},
    Known{"local_ip", local_ip},
    Known{"local_port", local_port, true},
    Known{"method", method},
    Known{"path", path, true},
    Known{"pool", pool},
    Known{"port", port, true},
    Known{"post_quantum", post_quantum},
    Known{"query", query, true},
    Known{"request_id", request_id},
    Known{"rest", rest, true},
    Known{"route", route_name, true},
    Known{"scheme", scheme, true},
    Known{"sni", sni},
    Known{"status", status},
    Known{"target", target},
    Known{"tls_version", tls_version},
};

constexpr std::string_view kFieldPrefix = "header.";
constexpr std::string_view kCookiePrefix = "cookie.";

std::string_view number(uint32_t n, Arena& arena) {
  char text[10];
  const char* const end = std::to_chars(text, text + sizeof text, n).ptr;
  return arena.copy({text, static_cast<size_t>(end - text)});
}

std::string_view ip_text(const net::Address& address, Arena& arena) {
  if (!address.is_ip()) return {};
  char text[net::Address::kMaxIpText];
  return arena.copy({text, address.write_ip(text)});
}

uint16_t effective_port(const http::Request& request) {
  if (request.port != 0) return request.port;
  return request.scheme == "https" ? 443 : 80;
}

std::string hint_for(std::string_view name, bool url) {
  std::vector<std::string_view> names;
  for (const Known& known : kKnown) {
    if (known.url || !url) names.push_back(known.name);
  }
  std::string hint = did_you_mean(name, names);
  if (!hint.empty()) return hint;
  hint = "there are ";
  for (std::string_view n : names) hint += std::string(n) + ", ";
  return hint + (url ? "and 1 to 9" : "header.NAME and cookie.NAME");
}

}  // namespace

std::string_view cookie(const http::Fields& fields, std::string_view name) {
  for (const http::Field& f : fields.raw()) {
    if (f.removed || f.id != http::Name::cookie) continue;
    std::string_view list = f.value;
    while (!list.empty()) {
      const size_t end = std::min(list.find(';'), list.size());
      const std::string_view pair = trim_ows(list.substr(0, end));
      if (pair.size() > name.size() && pair.starts_with(name) && pair[name.size()] == '=') {
        return pair.substr(name.size() + 1);
      }
      list.remove_prefix(std::min(end + 1, list.size()));
    }
  }
  return {};
}

Result<Template> Template::compile(std::string_view text, Use use, size_t groups) {
  Template out;
  const auto add_text = [&out](std::string_view s, size_t at) {
    if (s.empty()) return;
    if (!out.parts_.empty() && out.parts_.back().variable == literal) {
      out.parts_.back().text += s;
    } else {
      out.parts_.push_back({.text = std::string(s), .at = at});
    }
  };
  size_t at = 0;
  while (at < text.size()) {
    const size_t dollar = std::min(text.find('$', at), text.size());
    add_text(text.substr(at, dollar - at), at);
    at = dollar;
    if (at == text.size()) break;
    if (text.substr(at).starts_with("$$")) {
      add_text("$", at);
      at += 2;
      continue;
    }
    const size_t close = text.find('}', at);
    if (!text.substr(at).starts_with("${") || close == std::string_view::npos) {
      return fail(
          "{} has a \"$\" that begins no variable: write ${{name}}, or $$ for a dollar sign",
          in_quotes(text));
    }
    const std::string_view name = text.substr(at + 2, close - at - 2);
    const bool url = use == Use::url;
    Part part{.at = at};
    at = close + 1;
    if (name.size() == 1 && name[0] >= '1' && name[0] <= '9') {
      part.variable = group;
      part.group = static_cast<uint8_t>(name[0] - '0');
      if (!url || part.group > groups) {
        return fail("{} has ${{{}}}, and {}", in_quotes(text), name,
                    !url          ? std::string("there are no groups of a pattern here")
                    : groups == 0 ? std::string("there is no pattern with groups")
                                  : std::format("the pattern has {} groups", groups));
      }
    } else if (!url && name.starts_with(kFieldPrefix) && http::is_token(name.substr(7))) {
      part.variable = field;
      part.text = name.substr(kFieldPrefix.size());
    } else if (!url && name.starts_with(kCookiePrefix) && http::is_token(name.substr(7))) {
      part.variable = cookie_value;
      part.text = name.substr(kCookiePrefix.size());
    } else {
      const auto known = std::ranges::find(kKnown, name, &Known::name);
      if (known == kKnown.end() || (url && !known->url)) {
        return fail("{} has ${{{}}}, which is no variable {}: {}", in_quotes(text), name,
                    url ? "of URLs" : "of header fields", hint_for(name, url));
      }
      part.variable = known->variable;
    }
    out.parts_.push_back(std::move(part));
  }
  return out;
}

std::string_view Template::literal_start() const {
  return parts_.empty() || parts_.front().variable != literal ? std::string_view{}
                                                              : std::string_view(parts_[0].text);
}

bool Template::has_group_before(size_t size) const {
  return std::ranges::any_of(parts_,
                             [&](const Part& p) { return p.variable == group && p.at < size; });
}

std::string_view Template::value_of(const Part& part, const Scene& s) const {
  const http::Request& r = s.request;
  const net::ConnectionFacts& c = s.facts;
  switch (static_cast<Variable>(part.variable)) {
    case literal: return part.text;
    case group: return part.group <= s.groups.size() ? s.groups[part.group - 1] : "";
    case field: {
      const http::Field* f = const_cast<http::Fields&>(r.fields).find(part.text);
      return f == nullptr ? std::string_view{} : f->value;
    }
    case cookie_value: return cookie(r.fields, part.text);
    case alpn: return c.alpn;
    case authority: return s.authority.empty() ? r.authority : s.authority;
    case cipher: return c.cipher;
    case client_fingerprint:
      return c.client == nullptr ? "" : std::string_view(c.client->fingerprint);
    case client_ip: return s.identity.client_ip;
    case client_port: return c.peer.is_ip() ? number(c.peer.port(), s.arena) : "";
    case client_subject: return c.client == nullptr ? "" : std::string_view(c.client->subject);
    case client_verified: return c.client == nullptr ? "" : c.client->verified ? "1" : "0";
    case host: return r.host;
    case http_version: return http::version_name(r.version);
    case key_exchange_group: return c.group;
    case local_ip: return ip_text(c.local, s.arena);
    case local_port: return c.local.is_ip() ? number(c.local.port(), s.arena) : "";
    case method: return r.method_text;
    case path: return r.path;
    case pool: return s.pool;
    case port: return number(effective_port(r), s.arena);
    case post_quantum: return !c.secure() ? "" : c.post_quantum ? "1" : "0";
    case query: return r.query;
    case request_id: return s.identity.request_id;
    case rest: return s.rest;
    case route_name: return s.route;
    case scheme: return r.scheme;
    case sni: return c.sni;
    case status: return s.status == 0 ? "" : number(s.status, s.arena);
    case target: return s.target.empty() ? r.target : s.target;
    case tls_version: return c.tls_version;
  }
  return {};
}

std::string_view Template::fill(const Scene& scene) const {
  if (parts_.empty()) return {};
  if (parts_.size() == 1) return value_of(parts_.front(), scene);
  auto* const values = scene.arena.make_array<std::string_view>(parts_.size());
  size_t size = 0;
  for (size_t i = 0; i < parts_.size(); ++i) {
    new (&values[i]) std::string_view(value_of(parts_[i], scene));
    size += values[i].size();
  }
  if (size == 0) return {};
  char* const text = static_cast<char*>(scene.arena.allocate(size));
  char* at = text;
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (!values[i].empty()) std::memcpy(at, values[i].data(), values[i].size());
    at += values[i].size();
  }
  return {text, size};
}

}  // namespace pqedge::route
