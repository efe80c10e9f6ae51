#include "unit/wire/http3_test_server.h"

#include <gtest/gtest.h>

#include "crypto/certificates.h"
#include "crypto/tickets.h"

namespace pqedge::wire_test {
namespace {

std::shared_ptr<const crypto::CertificateStore> test_certificates() {
  static const std::shared_ptr<const crypto::CertificateStore> store = [] {
    const auto pem = crypto::make_self_signed({"localhost"});
    return *crypto::CertificateStore::from_pem(pem->chain, pem->key);
  }();
  return store;
}

}  // namespace

class TestConnection final : public http::ServerConnectionHandler {
 public:
  explicit TestConnection(Http3TestServer& server) : server_(server) {}
  http::ServerStreamHandler& on_stream(http::ServerStream& stream) override {
    server_.exchanges_.push_back(std::make_unique<TestExchange>(stream));
    TestExchange& e = *server_.exchanges_.back();
    e.when_complete = [](TestExchange& x) { x.answer(200, x.request().target); };
    if (server_.on_request) server_.on_request(e);
    return e;
  }
  void on_closed(std::string_view reason) override {
    closed = std::string(reason);
    codec.reset();
  }

  std::unique_ptr<http::ServerConnection> codec;
  net::ConnectionFacts facts;
  std::string closed = "(open)";

 private:
  Http3TestServer& server_;
};

// ---- exchanges ----------------------------------------------------------------------------------

void TestExchange::on_head(bool end) {
  EXPECT_FALSE(head);
  head = true;
  head_was_end = end;
  if (when_head) when_head(*this);
  if (!end) return;
  ended = true;
  if (when_complete) when_complete(*this);
}

void TestExchange::on_body(Slice bytes) {
  EXPECT_TRUE(head && !ended);
  body.append(as_text(bytes.bytes()));
  ++body_calls;
  held += bytes.size;
  largest_held = std::max(largest_held, held);
  if (credit && stream_ != nullptr) stream_->consumed(std::exchange(held, 0));
}

void TestExchange::on_end() {
  EXPECT_TRUE(head && !ended);
  ended = true;
  if (when_complete) when_complete(*this);
}

void TestExchange::on_bad_request(uint16_t status, std::string_view reason) {
  bad_status = status;
  bad_reason = reason;
  answer(status, reason);
}

void TestExchange::begin_answer(uint16_t status, std::optional<uint64_t> length) {
  if (stream_ == nullptr) return;
  Arena arena;
  http::Response response(arena);
  response.status = status;
  response.fields.add("server", "test");
  response.fields.add("X-Mixed-Case", "kept");
  response.body = length ? http::BodyKind::length : http::BodyKind::stream;
  response.content_length = length.value_or(0);
  stream_->send_head(response, length == 0u);
}

void TestExchange::send(std::string_view bytes) {
  copy_to_slices(as_bytes(bytes), [&](Slice s) {
    if (stream_ != nullptr) stream_->send_body(std::move(s));
  });
}

void TestExchange::answer(uint16_t status, std::string_view text) {
  begin_answer(status, text.size());
  if (text.empty()) return;
  send(text);
  if (stream_ != nullptr) stream_->send_end(nullptr);
}

// ---- the server ---------------------------------------------------------------------------------

Http3TestServer::Http3TestServer(net::Loop& loop, Options options) : keys_(options.keys) {
  crypto::TlsSettings tls;
  auto contexts = crypto::ServerContexts::create(tls, test_certificates(),
                                                 crypto::TicketKeyRing::create(7200 * kSecond));
  EXPECT_TRUE(contexts.has_value());
  contexts_ = *contexts;
  if (keys_ == nullptr) keys_ = std::make_shared<quic::Keys>(*quic::Keys::generate());
  http3::Listener::Options o;
  auto socket = net::bind_udp(*net::Address::from_ip("127.0.0.1", 0), {.reuse_port = false},
                              options.settings.receive_buffer, options.settings.send_buffer);
  EXPECT_TRUE(socket.has_value());
  address_ = *net::local_address(socket->fd.get());
  o.socket = std::move(*socket);
  o.local = address_;
  o.self = options.self;
  o.keys = keys_;
  o.settings = options.settings;
  o.limits = std::make_shared<http::Limits>(options.limits);
  auto listener = http3::Listener::create(loop, std::move(o), contexts_, *this);
  EXPECT_TRUE(listener.has_value());
  listener_ = std::move(*listener);
}

Http3TestServer::~Http3TestServer() { listener_.reset(); }

http::ServerConnectionHandler& Http3TestServer::on_http3_connection(
    std::unique_ptr<http::ServerConnection> connection, const net::ConnectionFacts& facts) {
  connections_.push_back(std::make_unique<TestConnection>(*this));
  connections_.back()->codec = std::move(connection);
  connections_.back()->facts = facts;
  return *connections_.back();
}

http::ServerConnection* Http3TestServer::connection(size_t i) {
  return connections_.at(i)->codec.get();
}
const net::ConnectionFacts& Http3TestServer::facts(size_t i) const {
  return connections_.at(i)->facts;
}
std::string Http3TestServer::closed(size_t i) const { return connections_.at(i)->closed; }

}  // namespace pqedge::wire_test
