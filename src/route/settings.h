// What a configuration says about one route.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "http/uri.h"
#include "net/address.h"
#include "route/forward_settings.h"
#include "route/shape_settings.h"
#include "route/tunnel_settings.h"

namespace pqedge::route {

// What one field or one query parameter must be.
struct ValueMatch {
  enum class Kind : uint8_t { present, absent, exact, prefix, regex };
  std::string name;
  Kind kind = Kind::present;
  std::string value;  // of exact, prefix and regex (RE2 syntax, the whole value)
  friend bool operator==(const ValueMatch&, const ValueMatch&) = default;
};

struct RouteSettings {
  std::string name;                // unique; the label in metrics and logs
  std::vector<std::string> hosts;  // exact ("a.test") or wildcard ("*.a.test": one or more labels);
                                   // empty: every host
  std::string path;                // exact, canonical; or
  std::string path_prefix;         // on segment borders: "/api" takes "/api" and "/api/x", not
                                   // "/apix"; empty with an empty path: every path
  std::string path_regex;          // RE2 syntax, the whole canonical path
  std::vector<std::string> methods;   // case-sensitive (RFC 9110 9.1); empty: every method
  std::vector<ValueMatch> headers;    // all must hold; one of several fields of a name is enough
  std::vector<ValueMatch> query;      // the same for parameters, percent-decoded, '+' is a space
  std::vector<net::Network> clients;  // of the client's address (identity); empty: everyone
  uint32_t priority = 0;              // to 1000; a higher one goes before all that is more specific
  http::EncodedSlash encoded_slash = http::EncodedSlash::keep;

  std::string pool;            // forward there; or one of:
  uint16_t answer_status = 0;  // a fixed answer (404, 204, ...)
  std::string answer_body;
  std::string answer_file;      // whose content is the body, read when the configuration loads
  std::string answer_type;      // Content-Type; empty: by the file's name, else text/plain
  RedirectSettings redirect;    // or: to another URL
  bool redirect_https = false;  // 308 to https://host[:redirect_port]/...
  uint16_t redirect_port = 443;

  // Only for clients with a verified certificate; of those in the lists where there are any: each
  // list has texts of which one must fit, and one list is enough.
  bool client_certificate = false;
  std::vector<std::string> client_subjects;      // "CN=alice,O=Example", as the header field has it
  std::vector<std::string> client_names;         // of subjectAltName; "*.a.test" for one label
  std::vector<std::string> client_fingerprints;  // SHA-256, hexadecimal; unverified ones count too
  bool wants_client() const {
    return client_certificate || !client_subjects.empty() || !client_names.empty() ||
           !client_fingerprints.empty();
  }

  ForwardSettings forward;               // to the pool
  std::vector<std::string> early_hints;  // with a pool: Link values of a 103 that goes before
  bool pass_early_hints = true;          // and the backend's 103 to the client
  TunnelSettings tunnel;

  uint64_t max_body = UINT64_MAX;  // request body bytes; the smaller of it and the global limit
  uint32_t max_head = 0;           // as http::Limits::max_head: 431 beyond; 0: the global one alone

  HeaderSettings header_rules;
  RewriteSettings rewrite;  // with a pool
  SpellingSettings spelling;
  CanarySettings canary;  // with a pool
};

}  // namespace pqedge::route
