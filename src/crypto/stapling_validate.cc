#include "crypto/stapling_validate.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <filesystem>
#include <format>

#include "base/text.h"
#include "crypto/certificate_compression.h"
#include "crypto/sct.h"

namespace pqedge::crypto {
namespace {

void check_compression(const std::vector<std::string>& names, Problems& problems) {
  constexpr std::string_view kNames[] = {"brotli", "zstd", "zlib"};
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string key = entry_key("tls.certificate_compression", i);
    const auto encoding = find_certificate_encoding(names[i]);
    if (!encoding) {
      std::string hint = did_you_mean(names[i], kNames);
      if (hint.empty()) hint = R"(it may be "brotli", "zstd" or "zlib")";
      problems.push_back({key, in_quotes(names[i]) + " is not known here", hint});
    } else if (std::ranges::find(names, names[i]) != names.begin() + static_cast<ptrdiff_t>(i)) {
      problems.push_back({key, in_quotes(names[i]) + " is there twice"});
    } else if (!library_sends(*encoding)) {
      problems.push_back({key,
                          std::format("{} cannot be sent with the TLS library in use, {}",
                                      in_quotes(names[i]), OpenSSL_version(OPENSSL_VERSION)),
                          "leave it out"});
    }
  }
}

void check_transparency(const TransparencySettings& s, Problems& problems) {
  for (size_t i = 0; i < s.submit.size(); ++i) {
    const std::string start = to_lower(std::string_view(s.submit[i]).substr(0, 8));
    if (start.starts_with("https://") || start.starts_with("http://")) continue;
    problems.push_back({entry_key("tls.ct_submit", i), in_quotes(s.submit[i]) + " is not a URL",
                        "write the \"url\" of a log in ct_log_list"});
  }
  if (!s.submit.empty() && s.log_list.empty()) {
    problems.push_back({"tls.ct_submit", "needs ct_log_list",
                        "what a log answers is checked with the key that is in the list"});
  }
  if (s.submit.empty() && !s.cache_dir.empty()) {
    problems.push_back({"tls.ct_cache_dir", "has no effect without ct_submit"});
  }
}

void check_folder(const char* key, const std::string& folder, Problems& problems) {
  std::error_code code;
  if (folder.empty() || std::filesystem::is_directory(folder, code)) return;
  problems.push_back({key, "there is no directory " + in_quotes(folder), "create it"});
}

}  // namespace

void validate_stapling(const TlsSettings& settings, Problems& problems) {
  check_duration(problems, "tls.ocsp_timeout", settings.ocsp.timeout, 100 * kMillisecond,
                 300 * kSecond);
  check_duration(problems, "tls.ocsp_retry", settings.ocsp.retry, kSecond, 24 * kHour);
  check_transparency(settings.transparency, problems);
  check_compression(settings.certificate_compression, problems);
}

void check_stapling_files(const TlsSettings& settings, Problems& problems) {
  check_folder("tls.ocsp_cache_dir", settings.ocsp.cache_dir, problems);
  const TransparencySettings& s = settings.transparency;
  check_folder("tls.ct_cache_dir", s.cache_dir, problems);
  if (s.log_list.empty()) return;
  const auto logs = LogList::load(s.log_list);
  if (!logs) {
    problems.push_back({"tls.ct_log_list", logs.error().message});
    return;
  }
  for (size_t i = 0; i < s.submit.size(); ++i) {
    if ((*logs)->find_url(s.submit[i]) != nullptr) continue;
    problems.push_back({entry_key("tls.ct_submit", i),
                        in_quotes(s.submit[i]) + " is the URL of no log in ct_log_list", "",
                        "tls.ct_log_list"});
  }
}

}  // namespace pqedge::crypto
