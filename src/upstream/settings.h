// What a configuration says about one pool of backend servers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "crypto/backend_tls_settings.h"
#include "net/address.h"

namespace pqedge::upstream {

struct ServerSettings {
  net::Address address;    // TCP or Unix
  std::string name;        // the address as written; the label in metrics and logs
};

enum class Balance : uint8_t { round_robin, least_connections };

struct PoolSettings {
  std::string name;
  Balance balance = Balance::round_robin;
  std::vector<ServerSettings> servers;

  Nanos connect_timeout = 2 * kSecond;
  Nanos response_timeout = 60 * kSecond;   // request sent whole -> first byte of the answer: 504
  Nanos read_timeout = 60 * kSecond;       // between two reads of the answer
  Nanos idle_timeout = 55 * kSecond;       // an unused connection is closed (below usual backends' 60)
  uint32_t max_idle = 256;                 // kept unused a server, in the process
  uint32_t max_connections = 0;            // a server, in the process; 0: no limit. Beyond: 503
  uint8_t send_proxy = 0;                  // begin each connection with a PROXY header, version 1
                                           // or 2; such a connection serves one request
  bool tls = false;                        // speak TLS with the servers
  crypto::BackendTlsSettings tls_settings;
  uint32_t retries = 1;                    // of idempotent, unanswered requests; on another server
                                           // when there is one
};

}  // namespace pqedge::upstream
