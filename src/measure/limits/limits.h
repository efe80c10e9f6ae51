// What programs with their default settings do with large fields (M20): the installed ones are
// started on loopback, asked over each HTTP version that they speak, and stopped.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "measure/record/record.h"

namespace pqedge::measure {

struct LimitsOptions {
  std::vector<std::string> programs;         // names of limit_programs(); empty: all
  std::map<std::string, std::string> paths;  // of programs that are not where PATH leads
  bool search_largest = true;                // also the largest token and target that are taken
  std::function<void(std::string_view program, std::string_view http_version)> progress;
  std::function<bool()> cancelled;
};

// "nginx", "HAProxy", "Node", "Apache", "Caddy", "pqedge".
std::span<const std::string_view> limit_programs();

// Appends to record.limits; programs that are not installed or do not start are in record.absent.
// Cancelled: what was asked stays and record.complete is false.
Result<void> run_limits(const LimitsOptions& options, Record& record);

}  // namespace pqedge::measure
