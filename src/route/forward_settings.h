// What a configuration says about how a route's requests are forwarded. What is left out is as the
// pool says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "http/forwarding.h"

namespace pqedge::route {

struct ForwardSettings {
  // A server is connected to, its TLS handshake included.
  std::optional<Nanos> connect_timeout;
  std::optional<Nanos> response_timeout;  // first byte of the answer, each try
  std::optional<Nanos> read_timeout;      // between two reads of the answer
  std::optional<Nanos> request_timeout;   // head read to answer's end, tries and waits included

  std::optional<uint32_t> retries;
  http::RetrySettings retry;
  Nanos hedge_after =
      0;  // a second server is asked too when the first was silent so long; 0: never

  uint64_t buffer_request = 0;   // of a request's body, taken before a server is asked; 0: none
  uint64_t buffer_response = 0;  // of an answer's, taken before the client gets it; 0: none

  std::string shadow_pool;  // gets copies; empty: none
  uint32_t shadow_percent = 100;
  uint64_t shadow_body = 64 * 1024;  // requests with more of a body are not copied
  uint32_t shadow_requests = 100;    // copies at a time, in the process
};

}  // namespace pqedge::route
