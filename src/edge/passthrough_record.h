// The access log's line of a connection that was passed on.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/time.h"
#include "edge/passthrough.h"
#include "net/facts.h"

namespace pqedge::edge {

class Worker;

struct PassthroughRecord {
  const net::ConnectionFacts* facts = nullptr;  // addresses and SNI
  std::string_view listener;
  const Passthrough* passthrough = nullptr;
  std::string_view backend;  // empty: none was reached
  uint64_t bytes_in = 0;     // from the client
  uint64_t bytes_out = 0;
  Nanos duration = 0;
  Nanos connect = kNever;   // until the server was connected (TCP) or answered (UDP)
  std::string_view reason;  // empty: both sides ended in good order
};

void record_passthrough(Worker& worker, const PassthroughRecord& record);

}  // namespace pqedge::edge
