// The counters of the process as pages for a monitoring system. No label on them comes from a
// client.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pqedge::record {

// What only the program knows about the process.
struct ProcessInfo {
  unsigned workers = 0;
  std::vector<uint16_t> udp_ports;  // whose kernel drops are shown
};
void set_process_info(ProcessInfo info);

// Prometheus text exposition format 0.0.4.
std::string prometheus_text();
// The same as {"metrics":[{"name":..., "type":..., "help":..., "series":[...]}]}.
std::string metrics_json();

}  // namespace pqedge::record
