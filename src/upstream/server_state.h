// What all workers share about one backend server. Survives reloads: the same pool name and address
// give the same state.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/counters.h"
#include "base/time.h"
#include "crypto/backend_tls.h"
#include "net/address.h"
#include "upstream/settings.h"

namespace pqedge::upstream {

class ServerState {
 public:
  ServerState(std::string pool, const ServerSettings& settings);

  const std::string pool;
  const std::string name;
  const net::Address address;

  // Requests in flight in the process: what least-connections compares. The one shared cache line
  // that a request writes.
  alignas(64) std::atomic<uint32_t> active{0};
  alignas(64) std::atomic<uint32_t> connections{0};  // open or opening, in the process
  // After a failed connect the server is passed over until then, while others can serve.
  std::atomic<Nanos> passed_over_until{0};

  // The group that it asked for by a HelloRetryRequest, as a code point; 0: none. Its share goes into
  // the next hello, beside those of the settings.
  std::atomic<uint16_t> tls_group{0};
  // When each kind of TLS failure was last written to the log.
  std::array<std::atomic<Nanos>, crypto::kBackendFaults> tls_warned{};

  struct {
    counters::Counter requests;
    counters::Counter connects;
    counters::Counter connect_failures;
    counters::Counter resets;
    counters::Counter retries;
    counters::Counter open;  // gauge
    counters::Counter tls_resumptions;
    counters::Counter tls_hello_retries;
  } count;
};

// Hands out the state of each (pool, server), the same as long as anyone holds it. Thread safe.
class Registry {
 public:
  std::shared_ptr<ServerState> get(const std::string& pool, const ServerSettings& server);

 private:
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::weak_ptr<ServerState>> states_;
};

}  // namespace pqedge::upstream
