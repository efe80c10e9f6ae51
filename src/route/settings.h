// What a configuration says about one route.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "http/uri.h"

namespace pqedge::route {

struct RouteSettings {
  std::string name;                // unique; the label in metrics and logs
  std::vector<std::string> hosts;  // exact ("a.test") or wildcard ("*.a.test": one or more labels);
                                   // empty: every host
  std::string path;                // exact, canonical; or
  std::string path_prefix;         // on segment borders: "/api" takes "/api" and "/api/x", not
                                   // "/apix"; empty with an empty path: every path
  http::EncodedSlash encoded_slash = http::EncodedSlash::keep;

  std::string pool;            // forward there; or one of:
  uint16_t answer_status = 0;  // a fixed answer (404, 204, ...)
  std::string answer_body;
  bool redirect_https = false;  // 308 to https://host[:redirect_port]/...
  uint16_t redirect_port = 443;

  uint64_t max_body = UINT64_MAX;  // request body bytes; the smaller of it and the global limit
};

}  // namespace pqedge::route
