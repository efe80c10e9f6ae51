#include "record/published_series.h"

#include <map>
#include <mutex>

namespace pqedge::record {
namespace {

std::mutex mutex;
std::map<std::string, std::vector<ProcessSeries>, std::less<>> by_owner;

}  // namespace

void publish_series(std::string_view owner, std::vector<ProcessSeries> series) {
  if (series.size() > kMostPublished) series.resize(kMostPublished);
  const std::lock_guard lock(mutex);
  by_owner[std::string(owner)] = std::move(series);
}

std::vector<ProcessSeries> published_series() {
  const std::lock_guard lock(mutex);
  std::vector<ProcessSeries> all;
  for (const auto& [owner, series] : by_owner) {
    all.insert(all.end(), series.begin(), series.end());
  }
  return all;
}

}  // namespace pqedge::record
