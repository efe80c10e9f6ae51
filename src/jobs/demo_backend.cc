#include "jobs/demo_backend.h"

#include <pthread.h>
#include <sys/socket.h>

#include <algorithm>
#include <format>
#include <optional>
#include <string>
#include <thread>

#include "base/text.h"
#include "http/limits.h"
#include "http/stream.h"
#include "jobs/demo_page.h"
#include "net/loop.h"
#include "net/socket.h"
#include "net/stream.h"
#include "wire/http1/server.h"

namespace pqedge::jobs {
namespace {

constexpr size_t kHighWater = 128 * 1024;
constexpr uint64_t kMaxBytes = uint64_t{1} << 40;
constexpr int kSlowLines = 10;
constexpr Nanos kSlowPause = 200 * kMillisecond;

// One request after the other on one connection.
class DemoConnection final : public ListNode<DemoConnection>,
                             public http::ServerConnectionHandler,
                             private http::ServerStreamHandler {
 public:
  DemoConnection(net::Loop& loop, net::Fd fd, std::shared_ptr<const http::Limits> limits)
      : loop_(loop), slow_([](void* self) { static_cast<DemoConnection*>(self)->tick(); }, this) {
    codec_ = http1::make_server(loop, net::make_plain_stream(loop, std::move(fd)), facts_,
                                std::move(limits), *this);
  }

 private:
  enum class Mode : uint8_t { none, bytes, echo, slow };

  http::ServerStreamHandler& on_stream(http::ServerStream& stream) override {
    stream_ = &stream;
    response_.reset();
    request_.reset();
    arena_.reset();
    request_.emplace(arena_);
    response_.emplace(arena_);
    mode_ = Mode::none;
    return *this;
  }
  void on_closed(std::string_view) override { delete this; }
  http::Request& request() override { return *request_; }

  void on_head(bool end) override {
    const std::string_view target = request_->target;
    const std::string_view path = target.substr(0, target.find('?'));
    if (request_->expects_continue && !end) {
      http::Response go_on(arena_);
      go_on.status = 100;
      stream_->send_informational(go_on);
    }
    if (path == "/echo" && !end) return echo();
    if (path.starts_with("/bytes/")) return bytes(path.substr(7));
    if (path.starts_with("/status/")) return status(path.substr(8));
    if (path == "/slow") return slow();
    if (path == "/" || path == "/echo") return page();
    text(404, "There is no such page here. Try /, /bytes/1000, /echo, /slow or /status/503.\n");
  }

  void head(uint16_t status, std::string_view type, std::optional<uint64_t> length, bool end) {
    response_->status = status;
    response_->fields.add(http::Name::date, arena_.copy(http::http_date()));
    response_->fields.add(http::Name::content_type, type);
    response_->body = length ? http::BodyKind::length : http::BodyKind::stream;
    response_->content_length = length.value_or(0);
    if (mode_ != Mode::echo) stream_->ignore_request_body();
    stream_->send_head(*response_, end);
  }

  void send_whole(uint16_t status, std::string_view type, std::string_view body) {
    const bool end = body.empty() || !http::response_has_body(request_->method, status);
    head(status, type, body.size(), end);
    if (end) return;
    copy_to_slices(as_bytes(body), [&](Slice s) { stream_->send_body(std::move(s)); });
    stream_->send_end(nullptr);
  }
  void text(uint16_t status, std::string_view body) {
    send_whole(status, "text/plain; charset=utf-8", body);
  }

  void page() { send_whole(200, "text/html; charset=utf-8", demo_page(*request_)); }

  void status(std::string_view number) {
    const auto n = parse_decimal(number);
    if (!n || *n < 200 || *n > 599) return text(400, "/status/N takes a number from 200 to 599.\n");
    text(static_cast<uint16_t>(*n),
         std::format("{} {}\n", *n, http::reason_phrase(static_cast<uint16_t>(*n))));
  }

  void echo() {
    mode_ = Mode::echo;
    const bool known = request_->body == http::BodyKind::length;
    const std::string_view type = request_->fields.get(http::Name::content_type);
    head(200, type.empty() ? "application/octet-stream" : type,
         known ? std::optional(request_->content_length) : std::nullopt, false);
  }

  void bytes(std::string_view number) {
    const auto n = parse_decimal(number);
    if (!n || *n > kMaxBytes) return text(400, "/bytes/N takes a number of bytes up to 2^40.\n");
    const bool end = *n == 0 || request_->method == http::Method::head;
    mode_ = Mode::bytes;
    left_ = *n;
    head(200, "application/octet-stream", *n, end);
    if (!end) pump();
  }

  void pump() {
    static const std::string kBlock(16 * 1024, 'x');  // static: no chunk is needed
    while (left_ > 0 && stream_ != nullptr && stream_->backlog() < kHighWater) {
      const size_t n = std::min<uint64_t>(left_, kBlock.size());
      left_ -= n;
      stream_->send_body(Slice{{}, as_bytes(kBlock).data(), n});
    }
    if (left_ == 0 && stream_ != nullptr) {
      mode_ = Mode::none;
      stream_->send_end(nullptr);
    }
  }

  void slow() {
    mode_ = Mode::slow;
    left_ = kSlowLines;
    const bool end = request_->method == http::Method::head;
    head(200, "text/plain; charset=utf-8", std::nullopt, end);
    if (!end) tick();
  }

  void tick() {
    if (stream_ == nullptr || mode_ != Mode::slow) return;
    const std::string line = std::format("line {} of {}\n", kSlowLines - left_ + 1, kSlowLines);
    copy_to_slices(as_bytes(line), [&](Slice s) { stream_->send_body(std::move(s)); });
    if (--left_ > 0) {
      slow_.arm(loop_, kSlowPause);
    } else {
      stream_->send_end(nullptr);
    }
  }

  void on_body(Slice bytes) override {
    const size_t n = bytes.size;
    if (mode_ != Mode::echo) return stream_->consumed(n);
    uncredited_ += n;
    stream_->send_body(std::move(bytes));
    credit();
  }
  void credit() {
    if (stream_ != nullptr && uncredited_ > 0 && stream_->backlog() < kHighWater) {
      stream_->consumed(std::exchange(uncredited_, 0));
    }
  }
  void on_end() override {
    if (mode_ == Mode::echo && stream_ != nullptr) stream_->send_end(&request_->trailers);
  }
  void on_bad_request(uint16_t code, std::string_view reason) override {
    text(code, std::format("{}\n", reason));
  }
  void on_writable() override {
    if (mode_ == Mode::bytes) pump();
    if (mode_ == Mode::echo) credit();
  }
  void on_reset(http::Abort) override { gone(); }
  void on_finished() override { gone(); }
  void gone() {
    stream_ = nullptr;
    mode_ = Mode::none;
    uncredited_ = 0;
    slow_.disarm();
  }

  net::Loop& loop_;
  net::ConnectionFacts facts_;
  Arena arena_;
  std::optional<http::Request> request_;
  std::optional<http::Response> response_;
  http::ServerStream* stream_ = nullptr;
  Mode mode_ = Mode::none;
  uint64_t left_ = 0;
  size_t uncredited_ = 0;
  net::Timer slow_;
  std::unique_ptr<http::ServerConnection> codec_;  // last: it may call back while it is destroyed
};

class Running final : public DemoBackend, private net::EventSource {
 public:
  static Result<std::unique_ptr<DemoBackend>> make() {
    std::unique_ptr<Running> r(new Running);
    auto loop = net::Loop::create();
    if (!loop) return std::unexpected(loop.error());
    r->loop_ = std::move(*loop);
    const auto any_port = net::Address::from_ip("127.0.0.1", 0);
    net::ListenOptions options;
    options.reuse_port = false;
    auto fd = net::listen_stream(*any_port, options);
    if (!fd) return fail("demonstration backend: {}", fd.error().message);
    r->fd_ = std::move(*fd);
    auto address = net::local_address(r->fd_.get());
    if (!address) return std::unexpected(address.error());
    r->address_ = *address;
    if (auto ok = r->loop_->add(r->fd_.get(), *r, true); !ok) return std::unexpected(ok.error());
    r->thread_ = std::thread([self = r.get()] { self->run(); });
    return r;
  }
  ~Running() override {
    loop_->stop();
    if (thread_.joinable()) thread_.join();
  }
  const net::Address& address() const override { return address_; }

 private:
  Running() : limits_(std::make_shared<const http::Limits>()) {}

  void run() {
    pthread_setname_np(pthread_self(), "demo-backend");
    loop_->run();
    loop_->remove(fd_.get(), *this);
    while (!connections_.empty()) delete &connections_.front();
  }

  void on_events(uint32_t) override {
    for (int i = 0; i < 64; ++i) {
      net::Fd fd(accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!fd) return;
      connections_.push_back(*new DemoConnection(*loop_, std::move(fd), limits_));
    }
  }

  std::unique_ptr<net::Loop> loop_;
  net::Fd fd_;
  net::Address address_;
  std::shared_ptr<const http::Limits> limits_;
  IntrusiveList<DemoConnection> connections_;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<DemoBackend>> DemoBackend::start() { return Running::make(); }

}  // namespace pqedge::jobs
