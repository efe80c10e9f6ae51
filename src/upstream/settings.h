// What a configuration says about one pool of backend servers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "crypto/backend_tls_settings.h"
#include "http/forwarding.h"
#include "net/address.h"
#include "upstream/discovery_settings.h"
#include "upstream/server_rules.h"

namespace pqedge::upstream {

struct ServerSettings {
  net::Address address;   // TCP or Unix
  std::string name;       // the address as written; the label in metrics and logs
  uint32_t weight = 1;    // its share beside the others'; 0: only clients that are tied to it
  uint32_t priority = 0;  // a server is chosen where no usable one has a smaller number
  std::string id = {};    // in affinity cookies and hashing; empty: made from the address
};

// What is spoken with the servers of a pool.
enum class Protocol : uint8_t {
  http1,      // HTTP/1.1, over TCP or TLS
  h2,         // HTTP/2 over TLS
  h2c,        // HTTP/2 over TCP, by prior knowledge (RFC 9113 3.3)
  h3,         // HTTP/3
  automatic,  // over TLS, what the server takes by ALPN: HTTP/2 or HTTP/1.1
};

enum class Balance : uint8_t {
  round_robin,        // in turn, smoothly by weight
  least_connections,  // fewest requests in flight a weight; in turn among equals
  random_two,         // the less busy of two picked by chance
  hash,               // by KeySource, consistently: a server's keys move when it goes, no others
  least_time,         // shortest time to the first byte, times requests in flight
};

// What of a request is a key: for hashing, and for affinity.
struct KeySource {
  enum class Kind : uint8_t { none, client_ip, header, cookie };
  Kind kind = Kind::none;
  std::string name;  // of the header field or the cookie
  friend bool operator==(const KeySource&, const KeySource&) = default;
};

struct PoolSettings {
  std::string name;
  Balance balance = Balance::least_connections;
  KeySource hash_by;  // with Balance::hash
  std::vector<ServerSettings> servers;
  DiscoverySettings discovery;  // finds more
  HealthSettings health;
  ServerRules rules;  // of servers that fail requests
  Protocol protocol = Protocol::http1;

  Nanos connect_timeout = 2 * kSecond;
  Nanos response_timeout = 60 * kSecond;  // request sent whole -> first byte of the answer: 504
  Nanos read_timeout = 60 * kSecond;      // between two reads of the answer
  Nanos idle_timeout = 55 * kSecond;  // an unused connection is closed (below usual backends' 60)
  uint32_t max_idle = 256;            // kept unused a server, in the process
  uint32_t max_connections = 0;       // a server, in the process; 0: no limit. Beyond: 503
  uint32_t max_streams = 100;         // requests at a time on a connection that multiplexes
  uint32_t max_connection_requests = 0;  // then a connection is used no more; 0: no limit
  Nanos max_connection_age = 0;          // the same; 0: no limit
  uint32_t max_requests = 0;             // in flight a server, in the process; 0: no limit
  uint32_t queue = 0;                    // requests that wait for a server, in the process; 0: none
  Nanos queue_timeout = 5 * kSecond;     // then 503
  Nanos slow_start = 0;                  // a server that came back gets its share over this time
  KeySource affinity;                    // none: off. cookie: one of ours, with that name
  Nanos affinity_ttl = 0;                // cookie: from its making, 0: the browser's session;
                                         // else since the client's last request, 0: an hour
  uint32_t affinity_entries = 65536;     // clients remembered, other than by cookie
  uint8_t send_proxy = 0;                // begin each connection with a PROXY header, version 1
                                         // or 2; such a connection serves one request
  bool tls = false;                      // speak TLS with the servers
  crypto::BackendTlsSettings tls_settings;
  uint32_t retries = 1;  // of idempotent, unanswered requests; on another server
                         // when there is one
  http::RetrySettings retry;
  uint32_t retry_budget = 20;  // retries, in percent of the requests of ten seconds,
  uint32_t retry_floor = 10;   // and so many a second, in the process, in any case
  Nanos request_timeout = 0;   // head read to answer's end, tries included; 0: no limit
};

}  // namespace pqedge::upstream
