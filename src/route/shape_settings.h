// What a configuration says about how a route changes requests and answers, and about its canary.
// Texts with variables ("${client_ip}") are templates: see template.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"

namespace pqedge::route {

// One change of a header (R4). They are made in the order of the file.
struct HeaderRule {
  enum class Kind : uint8_t { set, add, remove };
  Kind kind = Kind::set;
  std::string name;   // remove: "X-Internal-*" is every name that begins so
  std::string value;  // a template; a value that comes out empty is not written
};

struct HeaderSettings {
  std::vector<HeaderRule> request;   // of the request toward the backend
  std::vector<HeaderRule> response;  // of every answer to the client, our own included
  bool empty() const { return request.empty() && response.empty(); }
};

// What the backend is asked for instead (R3). At most one of strip_prefix, prefix and path.
struct RewriteSettings {
  std::string strip_prefix;  // taken off the path
  std::string prefix;        // in the place of the route's path_prefix
  std::string path;          // a template: the whole path; "?" begins a query that goes first
  std::string regex;  // RE2, the whole canonical path: its groups are ${1} to ${9} in `path`;
                      // empty: those of the route's path_regex
  std::string host;   // the backend's Host
  bool empty() const {
    return strip_prefix.empty() && prefix.empty() && path.empty() && regex.empty() && host.empty();
  }
};

struct RedirectSettings {
  std::string to;         // a template: a URL, or a path; empty: no redirect
  uint16_t status = 302;  // 301, 302, 303, 307, 308
  bool keep_query = true;
};

// How names are written in HTTP/1.1, toward the backend and toward the client (R21).
struct SpellingSettings {
  bool words = false;              // "x-camel-case" becomes "X-Camel-Case"; false: as they came
  std::vector<std::string> names;  // spelled exactly so: "SOAPAction"
  bool empty() const { return !words && names.empty(); }
};

// A part of a route's requests goes to another pool (R13).
struct CanarySettings {
  static constexpr uint32_t kWhole = 10'000;  // shares are counted in hundredths of a percent

  std::string pool;  // empty: there is no canary
  uint32_t share = 0;
  // At most one: clients stay on the side they were given. Without either each request is drawn.
  std::string sticky_cookie;
  std::string sticky_header;  // the same value, the same side
  Nanos cookie_lifetime = 86400 * kSecond;
  // A request with this field is sent to the canary ("always") or away from it ("never").
  std::string override_header;
  // Rollback: of at least `min_requests` answers of the canary within the window, that many
  // hundredths of a percent or more failed. 0: never.
  uint32_t rollback_errors = 0;
  uint32_t rollback_min_requests = 50;
  Nanos rollback_window = 60 * kSecond;

  bool on() const { return !pool.empty(); }
  friend bool operator==(const CanarySettings&, const CanarySettings&) = default;
};

}  // namespace pqedge::route
