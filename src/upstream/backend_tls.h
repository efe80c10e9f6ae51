// What is counted and said of TLS with a backend server.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/counters.h"
#include "crypto/backend_tls.h"
#include "upstream/server_state.h"

namespace pqedge::upstream {

class Requester;

// One worker's handshakes with one server. Registering a series takes a lock: what was met is kept.
class TlsCounters {
 public:
  void count(const ServerState& server, const crypto::BackendTlsFacts& facts);

 private:
  // By version and group, whose names are static and few.
  std::map<std::pair<std::string_view, std::string_view>, counters::Counter> met_;
};

// Counts it, and writes a line: at most one a second for each server and kind of failure.
void note_tls_failure(ServerState& server, crypto::BackendFault fault, std::string_view why,
                      Nanos now);

// The PROXY header that begins a connection for this requester.
std::string proxy_text(uint8_t version, const Requester& requester);

}  // namespace pqedge::upstream
