// What all workers share about one backend server. Survives reloads: the same pool name and address
// give the same state.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/counters.h"
#include "base/time.h"
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

  struct {
    counters::Counter requests;
    counters::Counter connects;
    counters::Counter connect_failures;
    counters::Counter resets;
    counters::Counter retries;
    counters::Counter open;  // gauge
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
