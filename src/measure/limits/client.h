// One request on a new connection to a server on loopback, by libcurl.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace pqedge::measure {

enum class HttpVersion : uint8_t { http1, http2, http3 };
const char* http_version_name(HttpVersion version);  // "HTTP/1.1", "HTTP/2", "HTTP/3"

// The client adds Host (or :authority) and "User-Agent: pqcost", nothing else.
struct LimitRequest {
  std::string target = "/";
  std::vector<std::string> fields;  // "Name: value"
};

struct LimitAnswer {
  long status = 0;      // 0: none came
  std::string outcome;  // the status, or how the connection or stream ended
  bool accepted() const { return status == 200; }
};

// HTTP/1.1 in plain text, the others over TLS without checking the certificate.
Result<LimitAnswer> ask(uint16_t port, HttpVersion version, const LimitRequest& request);

// Whether this libcurl speaks the version.
bool client_speaks(HttpVersion version);

}  // namespace pqedge::measure
