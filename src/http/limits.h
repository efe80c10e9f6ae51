// What one message may take. One set for all codecs.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace pqedge::http {

struct Limits {
  uint32_t max_target = 16 * 1024;   // bytes of the request target: 414 beyond
  uint32_t max_head = 64 * 1024;     // decoded bytes of a field section, 32 a field added (RFC
                                     // 9113 10.5.1 / RFC 9114 4.2.2 counting): 431 beyond
  uint32_t max_fields = 128;         // cookie crumbs counted singly: 431 beyond
  uint32_t max_trailers = 8 * 1024;  // decoded bytes of a trailer section
  uint64_t max_body = UINT64_MAX;    // request body bytes: 413 beyond
  uint32_t max_requests = 100'000;   // a connection, then it is closed in good order
  uint32_t max_streams = 128;        // concurrent requests a connection (HTTP/2, HTTP/3)
  uint32_t max_response_head = 64 * 1024;    // of a backend's answer, counted the same: 502 beyond
  uint32_t body_window = 256 * 1024;         // request-body bytes a stream may have unconsumed
  uint32_t connection_window = 1024 * 1024;  // and a connection

  bool connect_protocol = false;  // extended CONNECT is offered (RFC 8441, RFC 9220): not a
                                  // key of its own, some route has to take an upgrade

  Nanos header_timeout = 10 * kSecond;  // from the first byte of a head to its end: 408
  Nanos idle_timeout = 60 * kSecond;    // between requests
  Nanos body_timeout = 30 * kSecond;    // between two reads of a request body: 408
  Nanos send_timeout = 30 * kSecond;    // without progress while we have bytes for the client
  Nanos linger_timeout = 5 * kSecond;   // read and drop after an early answer (RFC 9112 9.6)
};

}  // namespace pqedge::http
