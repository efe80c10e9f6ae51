#include "jobs/ocsp_cache.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "base/log.h"
#include "base/text.h"
#include "jobs/acme/storage.h"
#include "jobs/ocsp.h"

namespace pqedge::jobs {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".ocsp";
constexpr size_t kHexDigits = 64;
constexpr auto kOldAge = std::chrono::days(30);

bool is_ours(std::string_view name) {
  return name.size() == kHexDigits + kEnding.size() && name.ends_with(kEnding) &&
         std::ranges::all_of(name.substr(0, kHexDigits), [](char c) { return hex_value(c) >= 0; });
}

}  // namespace

std::string ocsp_cache_file(const std::string& folder, std::string_view fingerprint) {
  if (folder.empty()) return {};
  return folder + '/' + std::string(fingerprint) + std::string(kEnding);
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

std::optional<OcspNews> cached_response(const crypto::OcspSettings& settings,
                                        const OcspSubject& subject) {
  const std::string file = ocsp_cache_file(settings.cache_dir, subject.fingerprint);
  if (file.empty()) return std::nullopt;
  const auto kept = acme::Storage::read(file);
  if (!kept) {
    if (kept.error().code != ENOENT) log::warning("ocsp", "{}", kept.error().message);
    return std::nullopt;
  }
  const auto answer =
      crypto::read_ocsp_response(as_bytes(*kept), subject.leaf.get(), subject.issuer.get(),
                                 static_cast<int64_t>(wall_now() / kSecond));
  if (!answer || answer->status != crypto::OcspStatus::good) {
    log::info("ocsp", "{}: the response in {} is of no use: {}", subject.label, file,
              answer ? "it does not say \"good\"" : answer.error().message);
    return std::nullopt;
  }
  return OcspNews{.id = subject.id,
                  .fingerprint = subject.fingerprint,
                  .response = *kept,
                  .this_update = answer->this_update,
                  .valid_until = answer->valid_until,
                  .timestamps = answer->timestamps,
                  .status = "good"};
}

}  // namespace pqedge::jobs
