// A listener with a scripted application, for tests of QUIC and HTTP/3.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crypto/tls.h"
#include "http/stream.h"
#include "net/loop.h"
#include "wire/http3/listener.h"

namespace pqedge::wire_test {

class TestConnection;

// One request as it reached the application.
class TestExchange final : public http::ServerStreamHandler {
 public:
  explicit TestExchange(http::ServerStream& stream) : stream_(&stream) {}

  http::Request& request() override { return request_; }
  void on_head(bool end) override;
  void on_body(Slice bytes) override;
  void on_end() override;
  void on_bad_request(uint16_t status, std::string_view reason) override;
  void on_writable() override { ++writable; }
  void on_reset(http::Abort why) override {
    reset = why;
    stream_ = nullptr;
  }
  void on_finished() override {
    finished = true;
    stream_ = nullptr;
  }

  // Null once the stream is gone.
  http::ServerStream* stream() { return stream_; }
  void answer(uint16_t status, std::string_view body = {});
  void begin_answer(uint16_t status, std::optional<uint64_t> length = std::nullopt);
  void send(std::string_view bytes);
  std::string field(std::string_view name) {
    return std::string(request_.fields.find(name) == nullptr ? "(none)"
                                                             : request_.fields.find(name)->value);
  }

  bool head = false;
  bool head_was_end = false;
  bool ended = false;
  bool finished = false;
  std::string body;
  size_t held = 0;  // body bytes without credit yet
  size_t largest_held = 0;
  size_t body_calls = 0;
  uint16_t bad_status = 0;
  std::string bad_reason;
  std::optional<http::Abort> reset;
  int writable = 0;
  std::function<void(TestExchange&)> when_complete;
  std::function<void(TestExchange&)> when_head;
  bool credit = true;

 private:
  Arena arena_;
  http::Request request_{arena_};
  http::ServerStream* stream_;
};

class Http3TestServer final : public http3::Acceptor {
 public:
  struct Options {
    http::Limits limits;
    quic::Settings settings;
    quic::Owner self{.generation = 7, .worker = 0};
    std::shared_ptr<const quic::Keys> keys;  // null: keys of its own
  };
  Http3TestServer(net::Loop& loop, Options options);
  explicit Http3TestServer(net::Loop& loop) : Http3TestServer(loop, Options{}) {}
  ~Http3TestServer();

  const net::Address& address() const { return address_; }
  http3::Listener& listener() { return *listener_; }
  TestExchange& exchange(size_t i) { return *exchanges_.at(i); }
  size_t exchanges() const { return exchanges_.size(); }
  http::ServerConnection* connection(size_t i);
  size_t connections() const { return connections_.size(); }
  const net::ConnectionFacts& facts(size_t i) const;
  std::string closed(size_t i) const;  // "(open)", or the reason
  const std::shared_ptr<const quic::Keys>& keys() const { return keys_; }
  const std::shared_ptr<crypto::ServerContexts>& contexts() const { return contexts_; }
  void destroy_listener() { listener_.reset(); }

  // Called for each new request; by default it is answered with 200 and its path when complete.
  std::function<void(TestExchange&)> on_request;
  Verdict verdict = Verdict::accept;
  int admissions = 0;
  std::function<void(const quic::Owner&, const quic::ReceivedDatagram&)> on_hand_over;
  std::function<bool(const quic::Owner&)> live = [](const quic::Owner&) { return true; };

 private:
  friend class TestConnection;
  Verdict admit(const net::Address&) override {
    ++admissions;
    return verdict;
  }
  http::ServerConnectionHandler& on_http3_connection(
      std::unique_ptr<http::ServerConnection> connection,
      const net::ConnectionFacts& facts) override;
  bool is_live(const quic::Owner& owner) override { return live(owner); }
  void hand_over(const quic::Owner& owner, const quic::ReceivedDatagram& datagram) override {
    if (on_hand_over) on_hand_over(owner, datagram);
  }

  std::shared_ptr<crypto::ServerContexts> contexts_;
  std::shared_ptr<const quic::Keys> keys_;
  net::Address address_;
  std::unique_ptr<http3::Listener> listener_;
  std::vector<std::unique_ptr<TestConnection>> connections_;
  std::vector<std::unique_ptr<TestExchange>> exchanges_;
};

}  // namespace pqedge::wire_test
