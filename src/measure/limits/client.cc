#include "measure/limits/client.h"

#include <curl/curl.h>

#include <array>
#include <format>
#include <memory>

namespace pqedge::measure {
namespace {

constexpr long kSeconds = 5;

struct Free {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

size_t drop(char*, size_t size, size_t count, void*) { return size * count; }

long version_option(HttpVersion version) {
  switch (version) {
    case HttpVersion::http1: return CURL_HTTP_VERSION_1_1;
    case HttpVersion::http2: return CURL_HTTP_VERSION_2TLS;
    case HttpVersion::http3: return CURL_HTTP_VERSION_3ONLY;
  }
  return CURL_HTTP_VERSION_1_1;
}

std::string ending(CURLcode code, const char* detail) {
  switch (code) {
    case CURLE_GOT_NOTHING: return "connection closed without an answer";
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR: return "connection reset";
    case CURLE_OPERATION_TIMEDOUT: return std::format("no answer in {} s", kSeconds);
    default: break;
  }
  return *detail != '\0' ? detail : curl_easy_strerror(code);
}

bool initialise() {
  static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  return code == CURLE_OK;
}

}  // namespace

const char* http_version_name(HttpVersion version) {
  switch (version) {
    case HttpVersion::http1: return "HTTP/1.1";
    case HttpVersion::http2: return "HTTP/2";
    case HttpVersion::http3: return "HTTP/3";
  }
  return "";
}

bool client_speaks(HttpVersion version) {
  if (!initialise()) return false;
  const int features = curl_version_info(CURLVERSION_NOW)->features;
  if (version == HttpVersion::http2) return (features & CURL_VERSION_HTTP2) != 0;
  if (version == HttpVersion::http3) return (features & CURL_VERSION_HTTP3) != 0;
  return true;
}

Result<LimitAnswer> ask(uint16_t port, HttpVersion version, const LimitRequest& request) {
  if (!initialise()) return fail("libcurl does not start");
  const std::unique_ptr<CURL, Free> curl(curl_easy_init());
  if (curl == nullptr) return fail("libcurl gives no handle");
  CURL* c = curl.get();
  std::unique_ptr<curl_slist, Free> fields(curl_slist_append(nullptr, "Accept:"));  // none
  for (const std::string& field : request.fields) {
    curl_slist* longer = curl_slist_append(fields.get(), field.c_str());
    if (longer == nullptr) return fail("libcurl: out of memory");
    fields.release();
    fields.reset(longer);
  }
  const std::string url =
      std::format("{}://127.0.0.1:{}{}", version == HttpVersion::http1 ? "http" : "https", port,
                  request.target);
  std::array<char, CURL_ERROR_SIZE> detail{};
  curl_easy_setopt(c, CURLOPT_URL, url.c_str());
  curl_easy_setopt(c, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(c, CURLOPT_HTTP_VERSION, version_option(version));
  curl_easy_setopt(c, CURLOPT_HTTPHEADER, fields.get());
  curl_easy_setopt(c, CURLOPT_USERAGENT, "pqcost");
  curl_easy_setopt(c, CURLOPT_PROXY, "");
  curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 0L);
  curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 0L);
  curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(c, CURLOPT_TIMEOUT, kSeconds);
  curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, drop);
  curl_easy_setopt(c, CURLOPT_ERRORBUFFER, detail.data());
  const CURLcode code = curl_easy_perform(c);
  LimitAnswer answer;
  curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &answer.status);
  if (code == CURLE_OK || answer.status != 0) {
    answer.outcome = std::to_string(answer.status);
    if (code != CURLE_OK) answer.outcome += ", then " + ending(code, detail.data());
  } else {
    if (code == CURLE_COULDNT_CONNECT || code == CURLE_SSL_CONNECT_ERROR ||
        code == CURLE_QUIC_CONNECT_ERROR) {
      return fail("{} on port {}: {}", http_version_name(version), port, detail.data());
    }
    answer.outcome = ending(code, detail.data());
  }
  return answer;
}

}  // namespace pqedge::measure
