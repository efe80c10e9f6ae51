#include "jobs/acme/http.h"

#include <curl/curl.h>

#include <algorithm>

#include "base/base64.h"
#include "base/text.h"
#include "base/version.h"

namespace pqedge::acme {
namespace {

// Chains of ML-DSA or SLH-DSA certificates are the largest that a CA sends.
constexpr size_t kMaxBody = 1 << 20;
constexpr size_t kMaxField = 4096;
constexpr Nanos kMostRetryAfter = 86400 * kSecond;

struct CurlFree {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

size_t take_body(char* data, size_t, size_t size, void* to) {
  auto& body = static_cast<HttpAnswer*>(to)->body;
  if (body.size() + size > kMaxBody) return 0;  // ends the transfer
  body.append(data, size);
  return size;
}

size_t take_field(char* data, size_t, size_t size, void* to) {
  auto& answer = *static_cast<HttpAnswer*>(to);
  const std::string_view line(data, size);
  if (line.starts_with("HTTP/")) answer = {};  // of the final answer alone
  const size_t colon = line.find(':');
  if (colon == line.npos || size > kMaxField) return size;
  const std::string_view name = line.substr(0, colon);
  std::string_view value = line.substr(colon + 1);
  while (value.ends_with('\n') || value.ends_with('\r')) value.remove_suffix(1);
  value = trim_ows(value);
  if (iequals(name, "replay-nonce")) {
    answer.nonce = is_base64url(value) ? value : std::string_view{};
  } else if (iequals(name, "location")) {
    answer.location = value;
  } else if (iequals(name, "content-type")) {
    answer.content_type = to_lower(trim_ows(value.substr(0, value.find(';'))));
  }
  return size;
}

int look_at_stop(void* stop, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::atomic<bool>*>(stop)->load(std::memory_order_relaxed) ? 1 : 0;
}

class Client final : public HttpClient {
 public:
  Client(Options options, std::unique_ptr<CURL, CurlFree> curl)
      : options_(std::move(options)), curl_(std::move(curl)) {}

  Result<HttpAnswer> get(const std::string& url) override {
    start(url);
    return perform(url);
  }

  Result<HttpAnswer> head(const std::string& url) override {
    start(url);
    curl_easy_setopt(curl_.get(), CURLOPT_NOBODY, 1L);
    return perform(url);
  }

  Result<HttpAnswer> post(const std::string& url, const std::string& content_type,
                          const std::string& body) override {
    start(url);
    const std::unique_ptr<curl_slist, CurlFree> fields(
        curl_slist_append(nullptr, ("Content-Type: " + content_type).c_str()));
    curl_easy_setopt(curl_.get(), CURLOPT_HTTPHEADER, fields.get());
    curl_easy_setopt(curl_.get(), CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(body.size()));
    curl_easy_setopt(curl_.get(), CURLOPT_POSTFIELDS, body.c_str());
    auto answer = perform(url);
    curl_easy_setopt(curl_.get(), CURLOPT_HTTPHEADER, nullptr);
    return answer;
  }

 private:
  // The handle keeps its connections; every option is set anew.
  void start(const std::string& url) {
    CURL* c = curl_.get();
    curl_easy_reset(c);
    answer_ = {};
    error_[0] = '\0';
    curl_easy_setopt(c, CURLOPT_URL, url.c_str());
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, options_.plain ? "http,https" : "https");
    curl_easy_setopt(c, CURLOPT_USERAGENT, ("pqedge/" + std::string(version())).c_str());
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, error_);
    const auto millis = static_cast<long>(options_.timeout / kMillisecond);
    curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, millis);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, std::min(millis, 10'000L));
    curl_easy_setopt(c, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    curl_easy_setopt(c, CURLOPT_MAXCONNECTS, 2L);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, &answer_);
    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, take_field);
    curl_easy_setopt(c, CURLOPT_HEADERDATA, &answer_);
    if (!options_.ca_file.empty()) {
      curl_easy_setopt(c, CURLOPT_CAINFO, options_.ca_file.c_str());
      curl_easy_setopt(c, CURLOPT_CAPATH, nullptr);
    }
    if (options_.plain) curl_easy_setopt(c, CURLOPT_NOPROXY, "*");
    if (options_.stop != nullptr) {
      curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
      curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, look_at_stop);
      curl_easy_setopt(c, CURLOPT_XFERINFODATA, const_cast<std::atomic<bool>*>(options_.stop));
    }
  }

  Result<HttpAnswer> perform(const std::string& url) {
    const CURLcode code = curl_easy_perform(curl_.get());
    if (code == CURLE_WRITE_ERROR && answer_.body.size() + CURL_MAX_WRITE_SIZE > kMaxBody) {
      return fail("{}: the answer is longer than {} bytes", shown(url), kMaxBody);
    }
    if (code != CURLE_OK) {
      return fail("{}: {}", shown(url), error_[0] != '\0' ? error_ : curl_easy_strerror(code));
    }
    curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &answer_.status);
    curl_off_t wait = 0;
    curl_easy_getinfo(curl_.get(), CURLINFO_RETRY_AFTER, &wait);
    if (wait > 0) {
      const auto seconds = static_cast<Nanos>(std::min(wait, curl_off_t{86400}));
      answer_.retry_after = std::min(seconds * kSecond, kMostRetryAfter);
    }
    return std::move(answer_);
  }

  // A URL of the CA's may hold what is not for a log.
  static std::string shown(std::string_view url) {
    std::string out;
    append_text_escaped(out, url.substr(0, 200));
    return out;
  }

  const Options options_;
  std::unique_ptr<CURL, CurlFree> curl_;
  HttpAnswer answer_;
  char error_[CURL_ERROR_SIZE] = {};
};

}  // namespace

Result<std::unique_ptr<HttpClient>> HttpClient::create(Options options) {
  std::unique_ptr<CURL, CurlFree> curl(curl_easy_init());
  if (curl == nullptr) return fail("libcurl cannot be started: out of memory");
  return std::make_unique<Client>(std::move(options), std::move(curl));
}

}  // namespace pqedge::acme
