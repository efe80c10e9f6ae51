#include "jobs/web_thread.h"

#include <curl/curl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <format>

#include "jobs/web_address.h"
#include "net/address.h"

namespace pqedge::jobs {
namespace {

constexpr size_t kAtOnce = 8;
constexpr long kMaxRedirects = 3;
constexpr long kMaxWaitMillis = 60'000;

}  // namespace

struct WebThread::Transfer {
  WebRequest request;
  Done done;
  CURL* easy = nullptr;
  curl_slist* fields = nullptr;
  WebAnswer answer;
  bool too_long = false;
  std::string refused;  // the address, when it is one that may not be asked
  char error[CURL_ERROR_SIZE] = {};

  ~Transfer() {
    if (easy != nullptr) curl_easy_cleanup(easy);
    curl_slist_free_all(fields);
  }

  static size_t on_bytes(char* data, size_t, size_t size, void* self) {
    auto& t = *static_cast<Transfer*>(self);
    if (t.answer.body.size() + size > t.request.max_answer) {
      t.too_long = true;
      return 0;  // ends the transfer
    }
    t.answer.body.append(data, size);
    return size;
  }

  // Every address that a name or a redirect leads to passes here, just before it is connected to.
  static curl_socket_t on_socket(void* self, curlsocktype, curl_sockaddr* address) {
    auto& t = *static_cast<Transfer*>(self);
    if (!t.request.local_addresses && is_local_address(&address->addr)) {
      const auto known = net::Address::from_sockaddr(&address->addr, address->addrlen);
      t.refused = known.is_ip() ? known.ip() : "an address that is no IP address";
      return CURL_SOCKET_BAD;
    }
    return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  }

  bool prepare();
  std::string why(int code) const;
};

bool WebThread::Transfer::prepare() {
  easy = curl_easy_init();
  if (easy == nullptr) return false;
  const auto set = [this](CURLoption option, auto value) {
    return curl_easy_setopt(easy, option, value) == CURLE_OK;
  };
  const auto add = [this](const std::string& field) {
    fields = curl_slist_append(fields, field.c_str());
  };
  add("Expect:");
  if (!request.content_type.empty()) add("Content-Type: " + request.content_type);
  if (!request.accept.empty()) add("Accept: " + request.accept);
  bool ok = set(CURLOPT_URL, request.url.c_str()) && set(CURLOPT_PRIVATE, this) &&
            set(CURLOPT_ERRORBUFFER, error) && set(CURLOPT_NOSIGNAL, 1L) &&
            set(CURLOPT_PROTOCOLS_STR, "http,https") &&
            set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https") && set(CURLOPT_FOLLOWLOCATION, 1L) &&
            set(CURLOPT_MAXREDIRS, kMaxRedirects) &&
            // No proxy, also not the environment's: its address would be checked instead.
            set(CURLOPT_PROXY, "") &&
            set(CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout / kMillisecond)) &&
            set(CURLOPT_FORBID_REUSE, 1L) && set(CURLOPT_USERAGENT, "pqedge") &&
            set(CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1}) &&
            set(CURLOPT_WRITEFUNCTION, &on_bytes) && set(CURLOPT_WRITEDATA, this) &&
            set(CURLOPT_OPENSOCKETFUNCTION, &on_socket) && set(CURLOPT_OPENSOCKETDATA, this) &&
            set(CURLOPT_HTTPHEADER, fields);
  set(CURLOPT_QUICK_EXIT, 1L);
  if (request.post) {
    ok = ok && set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size())) &&
         set(CURLOPT_POSTFIELDS, request.body.data()) &&
         set(CURLOPT_POSTREDIR, long{CURL_REDIR_POST_ALL});
  }
  return ok;
}

std::string WebThread::Transfer::why(int code) const {
  if (too_long) return std::format("the answer is longer than {} bytes", request.max_answer);
  if (!refused.empty()) {
    return std::format(
        "{} is a loopback, link-local or otherwise special address, and may not be "
        "asked",
        refused);
  }
  return error[0] != '\0' ? error : curl_easy_strerror(static_cast<CURLcode>(code));
}

Result<std::unique_ptr<WebThread>> WebThread::start() {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  std::unique_ptr<WebThread> web(new WebThread);
  web->multi_ = ready == CURLE_OK ? curl_multi_init() : nullptr;
  if (web->multi_ == nullptr) return fail("libcurl cannot be set up");
  web->thread_ = std::thread([w = web.get()] {
    pthread_setname_np(pthread_self(), "jobs/web");
    w->run();
  });
  return web;
}

WebThread::~WebThread() {
  stop_.store(true, std::memory_order_release);
  if (thread_.joinable()) {
    curl_multi_wakeup(multi_);
    thread_.join();
  }
  running_.clear();
  if (multi_ != nullptr) curl_multi_cleanup(multi_);
}

void WebThread::post(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(task));
  }
  curl_multi_wakeup(multi_);
}

void WebThread::at(Nanos when, std::function<void()> task) {
  timers_.emplace(when, std::move(task));
}

void WebThread::fetch(WebRequest request, Done done) {
  auto transfer = std::make_unique<Transfer>();
  transfer->request = std::move(request);
  transfer->done = std::move(done);
  waiting_.push_back(std::move(transfer));
}

void WebThread::run() {
  while (!stop_.load(std::memory_order_acquire)) {
    run_tasks();
    start_waiting();
    int running = 0;
    curl_multi_perform(multi_, &running);
    collect();
    curl_multi_poll(multi_, nullptr, 0, wait_millis(), nullptr);
  }
  for (auto& transfer : running_) curl_multi_remove_handle(multi_, transfer->easy);
  // What the tasks and answers hold is freed on the thread that they belong to.
  running_.clear();
  waiting_.clear();
  timers_.clear();
  const std::lock_guard lock(mutex_);
  posted_.clear();
}

void WebThread::run_tasks() {
  std::vector<std::function<void()>> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(posted_);
  }
  for (auto& task : tasks) task();
  const Nanos now = monotonic_now();
  while (!timers_.empty() && timers_.begin()->first <= now) {
    auto due = timers_.extract(timers_.begin());
    due.mapped()();
  }
}

void WebThread::start_waiting() {
  while (running_.size() < kAtOnce && !waiting_.empty()) {
    auto transfer = std::move(waiting_.front());
    waiting_.pop_front();
    begin(std::move(transfer));
  }
}

void WebThread::begin(std::unique_ptr<Transfer> transfer) {
  Transfer& t = *transfer;
  running_.push_back(std::move(transfer));
  if (!t.prepare() || curl_multi_add_handle(multi_, t.easy) != CURLM_OK) {
    finish(t, CURLE_FAILED_INIT);
  }
}

void WebThread::collect() {
  int left = 0;
  while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    Transfer* transfer = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
    if (code == CURLE_OK) {
      curl_easy_getinfo(message->easy_handle, CURLINFO_RESPONSE_CODE, &transfer->answer.status);
    }
    curl_multi_remove_handle(multi_, message->easy_handle);
    finish(*transfer, code);
  }
}

void WebThread::finish(Transfer& transfer, int code) {
  if (transfer.answer.status == 0) {
    transfer.answer.body.clear();
    transfer.answer.error = transfer.why(code);
  }
  const auto it =
      std::ranges::find(running_, &transfer, [](const auto& each) { return each.get(); });
  const auto ended = std::move(*it);
  running_.erase(it);
  ended->done(std::move(ended->answer));
}

int WebThread::wait_millis() {
  if (running_.size() < kAtOnce && !waiting_.empty()) return 0;
  {
    const std::lock_guard lock(mutex_);
    if (!posted_.empty()) return 0;
  }
  if (timers_.empty()) return kMaxWaitMillis;
  const Nanos now = monotonic_now();
  const Nanos due = timers_.begin()->first;
  if (due <= now) return 0;
  return static_cast<int>(std::min<Nanos>((due - now) / kMillisecond + 1, kMaxWaitMillis));
}

}  // namespace pqedge::jobs
