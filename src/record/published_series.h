// Series whose set changes while the process runs, so that they are no counters: of certificates,
// of jobs. Each owner gives all of its own anew.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "record/process_metrics.h"

namespace pqedge::record {

// From any thread. Labels come from configuration and files, never from a client; more than
// kMostPublished of one owner are left out.
inline constexpr size_t kMostPublished = 4096;
void publish_series(std::string_view owner, std::vector<ProcessSeries> series);
std::vector<ProcessSeries> published_series();

}  // namespace pqedge::record
