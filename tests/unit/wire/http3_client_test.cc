// HTTP/3 toward a backend: our client's end with our server's, over real sockets. Other servers are
// in tests/integration/test_backend_http3.py.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "crypto/backend_tls.h"
#include "unit/wire/http3_test_server.h"
#include "unit/wire/quic_test_client.h"
#include "wire/http3/client_connection.h"
#include "wire/quic/client_connection.h"

namespace pqedge::wire_test {
namespace {

// One request and what came of it.
struct Asked final : http::ClientStreamHandler {
  http::Response& response() override { return answer; }
  void on_informational() override { ++informationals; }
  void on_response_head(bool end) override {
    status = answer.status;
    ended = end;
  }
  void on_response_body(Slice bytes) override {
    body.append(as_text(bytes.bytes()));
    held += bytes.size;
    if (!holds) stream->response_consumed(std::exchange(held, 0));
  }
  void on_response_end() override { ended = true; }
  void on_request_writable() override { ++writable; }
  void on_response_reset(http::Abort why, bool safe, std::string_view) override {
    reset = why;
    unanswered = safe;
  }

  Arena arena;
  http::Response answer{arena};
  http::ClientStream* stream = nullptr;
  uint16_t status = 0;
  int informationals = 0;
  int writable = 0;
  std::string body;
  size_t held = 0;
  bool holds = false;
  bool ended = false;
  bool unanswered = false;
  std::optional<http::Abort> reset;
};

class Http3Client : public ::testing::Test,
                    public quic::ClientObserver,
                    public http::ClientConnectionHandler {
 protected:
  void serve(Http3TestServer::Options options = {}) {
    server_ = std::make_unique<Http3TestServer>(*loop_, std::move(options));
  }

  void connect() {
    crypto::BackendTlsSettings settings;
    settings.verify = false;
    tls_ = *crypto::BackendTls::load(settings);
    context_ = std::shared_ptr<SSL_CTX>(tls_->make_context()->release(), SSL_CTX_free);
    http3_ =
        std::make_unique<http3::ClientConnection>(*loop_, limits_, http3::ClientOptions{}, *this);
    quic_ = std::make_unique<quic::ClientConnection>(
        *loop_,
        quic::ClientOptions{.tls = {.context = context_,
                                    .tls = tls_,
                                    .address = server_->address(),
                                    .sessions = sessions_,
                                    .alpn = "\x02h3"},
                            .stream_window = limits_->body_window,
                            .connection_window = 100 * limits_->body_window},
        *http3_, *this);
    http3_->attach(*quic_);
    facts_.reset();
    ASSERT_TRUE(quic_->start());
    ASSERT_TRUE(run([&] { return facts_ || failed_; }));
  }

  // quic::ClientObserver
  void on_server_heard() override { heard_ = true; }
  void on_handshake_done(const crypto::BackendTlsFacts& facts) override {
    facts_ = facts;
    http3_->start();
  }
  void on_unreachable(std::string_view why) override {
    failed_ = true;
    why_ = why;
  }
  void on_tls_failed(crypto::BackendFault, const Error& error) override {
    failed_ = true;
    why_ = error.message;
  }
  // http::ClientConnectionHandler
  void on_available() override { ++available_; }
  void on_client_connection_closed(std::string_view) override { closed_ = true; }

  void TearDown() override {
    http3_.reset();
    quic_.reset();
  }

  bool run(const std::function<bool()>& done) { return run_until(*loop_, done); }

  void ask(Asked& asked, std::string_view method, std::string_view target,
           std::string_view body = {}) {
    Arena arena;
    http::Request request(arena);
    request.method = http::parse_method(method);
    request.method_text = method;
    request.authority = "localhost";
    request.target = target;
    if (!body.empty()) {
      request.body = http::BodyKind::length;
      request.content_length = body.size();
    }
    asked.stream = &http3_->open_stream(asked);
    asked.stream->send_request_head(request, body.empty());
    if (body.empty()) return;
    copy_to_slices(as_bytes(body), [&](Slice s) { asked.stream->send_request_body(std::move(s)); });
    asked.stream->send_request_end(nullptr);
  }

  std::unique_ptr<net::Loop> loop_ = *net::Loop::create();
  std::shared_ptr<const http::Limits> limits_ = std::make_shared<const http::Limits>();
  std::unique_ptr<Http3TestServer> server_;
  std::shared_ptr<const crypto::BackendTls> tls_;
  std::shared_ptr<SSL_CTX> context_;
  std::shared_ptr<crypto::BackendSessions> sessions_ = std::make_shared<crypto::BackendSessions>();
  std::unique_ptr<http3::ClientConnection> http3_;
  std::unique_ptr<quic::ClientConnection> quic_;
  std::optional<crypto::BackendTlsFacts> facts_;
  std::string why_;
  int available_ = 0;
  bool heard_ = false;
  bool failed_ = false;
  bool closed_ = false;
};

TEST_F(Http3Client, AGetWithMlKem) {
  serve();
  connect();
  ASSERT_TRUE(facts_) << why_;
  EXPECT_TRUE(heard_);
  EXPECT_EQ(facts_->group, "X25519MLKEM768");
  EXPECT_EQ(facts_->alpn, "h3");
  ASSERT_TRUE(http3_->available());
  Asked asked;
  ask(asked, "GET", "/path?x");
  ASSERT_TRUE(run([&] { return asked.ended; }));
  EXPECT_EQ(asked.status, 200);
  EXPECT_EQ(asked.body, "/path?x");
  http3_->close();
  ASSERT_TRUE(run([&] { return closed_; }));
}

TEST_F(Http3Client, ManyAtATimeWithBodies) {
  serve();
  connect();
  ASSERT_TRUE(facts_) << why_;
  const std::string upload(300'000, 'u');
  std::vector<std::unique_ptr<Asked>> all;
  for (int i = 0; i < 20; ++i) {
    all.push_back(std::make_unique<Asked>());
    ask(*all.back(), "POST", "/" + std::to_string(i), upload);
  }
  for (int i = 0; i < 20; ++i) {
    Asked& asked = *all[static_cast<size_t>(i)];
    ASSERT_TRUE(run([&] { return asked.ended || asked.reset; })) << i;
    EXPECT_EQ(asked.status, 200);
  }
}

TEST_F(Http3Client, ASessionIsResumed) {
  serve();
  connect();
  ASSERT_TRUE(facts_) << why_;
  Asked first;
  ask(first, "GET", "/1");
  ASSERT_TRUE(run([&] { return first.ended; }));
  EXPECT_FALSE(facts_->resumed);
  // The ticket has its time until the end of the connection.
  http3_->close();
  ASSERT_TRUE(run([&] { return closed_; }));
  http3_.reset();
  quic_.reset();
  connect();
  ASSERT_TRUE(facts_) << why_;
  EXPECT_TRUE(facts_->resumed);
  Asked second;
  ask(second, "GET", "/2");
  ASSERT_TRUE(run([&] { return second.ended; }));
}

TEST_F(Http3Client, ARequestIsCancelled) {
  Http3TestServer::Options options;
  serve(std::move(options));
  connect();
  ASSERT_TRUE(facts_) << why_;
  Asked asked;
  asked.holds = true;
  ask(asked, "GET", "/x");
  asked.stream->cancel();
  Asked other;
  ask(other, "GET", "/y");
  ASSERT_TRUE(run([&] { return other.ended; }));
  EXPECT_FALSE(asked.ended);
  EXPECT_FALSE(asked.reset);
}

}  // namespace
}  // namespace pqedge::wire_test
