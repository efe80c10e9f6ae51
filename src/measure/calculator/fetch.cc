#include <curl/curl.h>
#include <sys/stat.h>

#include <memory>

#include "base/time.h"
#include "measure/calculator/metrics_page.h"
#include "measure/record/files.h"

namespace pqedge::measure {
namespace {

constexpr size_t kMaxPage = size_t{64} << 20;

struct CurlFree {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
};

size_t append(char* data, size_t, size_t size, void* to) {
  auto& text = *static_cast<std::string*>(to);
  if (text.size() + size > kMaxPage) return 0;  // ends the transfer
  text.append(data, size);
  return size;
}

Result<std::string> get(const std::string& url) {
  const std::unique_ptr<CURL, CurlFree> curl(curl_easy_init());
  if (curl == nullptr) return fail("cannot ask {}: out of memory", url);
  std::string text;
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl.get(), CURLOPT_CONNECTTIMEOUT, 5L);
  curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT, 20L);
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, append);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &text);
  const CURLcode code = curl_easy_perform(curl.get());
  if (code != CURLE_OK) return fail("cannot read {}: {}", url, curl_easy_strerror(code));
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status != 200) return fail("cannot read {}: it answers {}", url, status);
  return text;
}

}  // namespace

Result<FetchedPage> fetch_page(const std::string& file_or_url) {
  FetchedPage page;
  if (file_or_url.starts_with("http://") || file_or_url.starts_with("https://")) {
    auto text = get(file_or_url);
    if (!text) return std::unexpected(text.error());
    page.text = std::move(*text);
    page.read_at = static_cast<double>(wall_now()) / static_cast<double>(kSecond);
    return page;
  }
  auto text = read_file(file_or_url, kMaxPage);
  if (!text) return std::unexpected(text.error());
  struct stat info{};
  if (::stat(file_or_url.c_str(), &info) != 0) {
    return fail_errno(errno, "cannot read {}", file_or_url);
  }
  page.text = std::move(*text);
  page.read_at = static_cast<double>(info.st_mtim.tv_sec);
  return page;
}

}  // namespace pqedge::measure
