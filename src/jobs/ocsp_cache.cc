#include "jobs/ocsp_cache.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "base/text.h"

namespace pqedge::jobs {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".ocsp";
constexpr size_t kHexDigits = 64;
constexpr auto kOldAge = std::chrono::days(30);

bool is_ours(std::string_view name) {
  return name.size() == kHexDigits + kEnding.size() && name.ends_with(kEnding) &&
         std::ranges::all_of(name.substr(0, kHexDigits),
                             [](char c) { return hex_value(c) >= 0; });
}

}  // namespace

std::string ocsp_cache_file(const std::string& folder, std::string_view fingerprint) {
  return folder.empty() ? std::string() : folder + '/' + std::string(fingerprint) + std::string(kEnding);
}

void remove_old_responses(const std::string& folder) {
  if (folder.empty()) return;
  std::error_code code;
  const auto now = fs::file_time_type::clock::now();
  for (fs::directory_iterator it(folder, code), end; !code && it != end; it.increment(code)) {
    const fs::path& path = it->path();
    std::error_code ignored;
    if (!is_ours(path.filename().string()) || !it->is_regular_file(ignored)) continue;
    const auto written = fs::last_write_time(path, ignored);
    if (!ignored && now - written > kOldAge) fs::remove(path, ignored);
  }
}

}  // namespace pqedge::jobs
