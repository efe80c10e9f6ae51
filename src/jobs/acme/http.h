// HTTP to a CA or to an ask URL: one exchange at a time, bounded in time and size (libcurl).
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace pqedge::acme {

struct HttpAnswer {
  long status = 0;
  std::string body;
  std::string content_type;  // lower case, without parameters
  std::string location;
  std::string nonce;      // Replay-Nonce, if it is one (RFC 8555 6.5.1)
  Nanos retry_after = 0;  // 0: not said; at most a day
};

class HttpClient {
 public:
  struct Options {
    std::string ca_file;                      // empty: the system's
    Nanos timeout = 30 * kSecond;             // of a whole exchange
    bool plain = false;                       // http:// too, without a proxy: an ask URL
    const std::atomic<bool>* stop = nullptr;  // ends an exchange early
  };
  static Result<std::unique_ptr<HttpClient>> create(Options options);
  virtual ~HttpClient() = default;

  virtual Result<HttpAnswer> get(const std::string& url) = 0;
  virtual Result<HttpAnswer> head(const std::string& url) = 0;
  virtual Result<HttpAnswer> post(const std::string& url, const std::string& content_type,
                                  const std::string& body) = 0;
};

}  // namespace pqedge::acme
