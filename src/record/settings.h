// What a configuration says about logs.
#pragma once

#include <cstdint>
#include <string>

#include "base/log.h"

namespace pqedge::record {

struct LogSettings {
  std::string access_file;  // empty: off; "-": standard output
  std::string error_file;   // empty: standard error
  log::Level level = log::Level::info;
  uint32_t queue = 8192;  // access records waiting for the writer, all workers; then dropped
                          // and counted
};

}  // namespace pqedge::record
