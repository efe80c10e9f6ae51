// The talk in the clear that comes before TLS in protocols with STARTTLS.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "base/time.h"
#include "measure/live/options.h"

namespace pqedge::measure::live {

struct Preamble {  // bytes of the talk, before TLS's own
  size_t sent = 0;
  size_t received = 0;
};

// Talks up to the point where the ClientHello is next.
Result<Preamble> start_tls(int socket, StartTls protocol, const std::string& host, Nanos deadline);

}  // namespace pqedge::measure::live
