// How durations and sizes are written in a configuration.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/time.h"

namespace pqedge::config {

// A whole number and one of us, ms, s, m, h, d: "10s". nullopt also when it does not fit.
std::optional<Nanos> parse_duration(std::string_view text);
// A whole number and one of B, KB, MB, GB (1000) or KiB, MiB, GiB (1024), or no unit: "64KiB".
std::optional<uint64_t> parse_size(std::string_view text);

}  // namespace pqedge::config
