// Two network namespaces joined by the emulated link: a relay in user space between their TUN
// devices, on a thread of its own. Needs root.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/result.h"
#include "measure/link/link.h"
#include "measure/link/namespace.h"
#include "measure/link/settings.h"
#include "measure/load/histogram.h"

namespace pqedge::measure::link {

inline constexpr const char* kClientIp = "10.77.0.1";
inline constexpr const char* kServerIp = "10.77.0.2";

// What the emulator adds by itself to the one-way delay that was asked for, in microseconds.
struct AddedDelay {
  double median_us = 0;
  double p99_us = 0;
  size_t samples = 0;
};

struct TestbedOptions {
  size_t client_mtu = 1500;  // of the ends' own devices, not of the link between them
  size_t server_mtu = 1500;
};

class Testbed {
 public:
  static Result<std::unique_ptr<Testbed>> make(const TestbedOptions& options = {});
  ~Testbed();
  Testbed(const Testbed&) = delete;
  Testbed& operator=(const Testbed&) = delete;

  const Namespace& client() const { return client_; }
  const Namespace& server() const { return server_; }

  // From now on; packets under way are dropped and chance begins anew.
  void set(const Settings& settings);
  // Since the latest set(): up and down.
  std::pair<Counters, Counters> counters();
  // How much later than due the relay has handed on packets, since the latest set().
  load::Histogram lateness();

  // Half of the round trip of UDP echoes over the link with nothing set: the sockets' own cost is
  // in it, so that it is an upper bound. Leaves the link with nothing set.
  Result<AddedDelay> measure_added_delay(size_t samples = 300);
  static std::string emulator_name();

 private:
  Testbed(Namespace client, Namespace server);
  void relay();
  void drain(int from, int to, Link& link);
  void deliver(int to, Link& link);

  Namespace client_;
  Namespace server_;
  net::Fd wake_;
  std::mutex lock_;  // of what follows
  std::unique_ptr<Link> up_;
  std::unique_ptr<Link> down_;
  load::Histogram lateness_;
  std::atomic<bool> end_ = false;
  std::thread thread_;
};

}  // namespace pqedge::measure::link
