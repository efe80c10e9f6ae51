// What the kernel says about this process, as metric series.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/counters.h"

namespace pqedge::record {

struct ProcessSeries {
  std::string name;
  std::string help;
  counters::Kind kind = counters::Kind::gauge;
  counters::Labels labels;
  double value = 0;
};

// Standard process_* names of Prometheus clients, workers, version, and datagrams that the kernel
// dropped at our UDP ports. What cannot be read is left out.
std::vector<ProcessSeries> process_series();

// Drops of the sockets bound to `port`, in the format of /proc/net/udp; for tests too.
uint64_t udp_drops(std::string_view proc_net_udp, uint16_t port);

}  // namespace pqedge::record
