// A server or client codec on a fake stream, with the exchange's side recorded as text.
#pragma once

#include <format>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "http/limits.h"
#include "http/stream.h"
#include "unit/wire/fake_stream.h"
#include "wire/http1/client.h"
#include "wire/http1/server.h"

namespace pqedge::test {

// Timeouts that no test reaches; a test that wants one sets it to a nanosecond.
inline std::shared_ptr<http::Limits> patient_limits() {
  auto limits = std::make_shared<http::Limits>();
  limits->header_timeout = limits->idle_timeout = limits->body_timeout = 3600 * kSecond;
  limits->send_timeout = limits->linger_timeout = 3600 * kSecond;
  return limits;
}

inline std::string fields_text(const http::Fields& fields) {
  std::string text;
  fields.for_each([&](const http::Field& f) { text += std::format("{}: {}\n", f.name, f.value); });
  return text;
}

inline Slice slice_of(std::string_view text) {
  Slice s;
  copy_to_slices(as_bytes(text), [&](Slice piece) { s = std::move(piece); });
  return s;
}

// One request as the exchange sees it.
class Exchange final : public http::ServerStreamHandler {
 public:
  Exchange(http::ServerStream& s, bool give_credit) : stream(&s), credit(give_credit) {}

  http::Request& request() override { return message; }
  void on_head(bool end) override {
    events += end ? "head(end) " : "head ";
    if (at_head) at_head();
  }
  void on_body(Slice bytes) override {
    body += as_text(bytes.bytes());
    ++pieces;
    if (credit) stream->consumed(bytes.size);
    if (at_body) at_body();
  }
  void on_end() override {
    events += "end ";
    if (at_end) at_end();
  }
  void on_bad_request(uint16_t status, std::string_view why) override {
    events += std::format("bad({}) ", status);
    refused = status;
    reason = why;
    if (at_bad) at_bad();
  }
  void on_writable() override { events += "writable "; }
  void on_reset(http::Abort why) override {
    events += std::format("reset({}) ", static_cast<int>(why));
    stream = nullptr;
  }
  void on_finished() override {
    events += "finished ";
    stream = nullptr;
  }

  // Sends a whole answer.
  void answer(uint16_t status, std::string_view text) {
    http::Response r(arena);
    r.status = status;
    r.body = text.empty() ? http::BodyKind::none : http::BodyKind::length;
    r.content_length = text.size();
    stream->send_head(r, text.empty());
    if (text.empty()) return;
    stream->send_body(slice_of(text));
    stream->send_end(nullptr);
  }

  Arena arena;
  http::Request message{arena};
  http::ServerStream* stream;
  bool credit;
  std::string events;
  std::string body;
  int pieces = 0;
  uint16_t refused = 0;
  std::string reason;
  std::function<void()> at_head, at_body, at_end, at_bad;
};

// A server connection and its owner.
class ServerRig final : public http::ServerConnectionHandler {
 public:
  explicit ServerRig(std::shared_ptr<http::Limits> l = patient_limits()) : limits(std::move(l)) {
    facts.transport = net::Transport::tls;
    connection =
        http1::make_server(*loop, std::make_unique<FakeStream>(*loop, peer), facts, limits, *this);
  }
  ~ServerRig() {
    if (connection) connection->close_now();
    settle();
  }

  http::ServerStreamHandler& on_stream(http::ServerStream& stream) override {
    Exchange& e = exchanges.emplace_back(stream, give_credit);
    if (prepare) prepare(e);
    return e;
  }
  void on_closed(std::string_view reason) override {
    closed = true;
    close_reason = reason;
    connection.reset();
  }

  void settle() { test::settle(*loop); }
  void feed(std::string_view bytes) {
    peer.feed(bytes);
    settle();
  }
  Exchange& last() { return exchanges.back(); }
  std::string output() { return peer.take_output(); }
  // What an input to a new connection gives: the status of the refusal, or 0.
  static uint16_t verdict(std::string_view bytes) {
    ServerRig rig;
    rig.feed(bytes);
    return rig.exchanges.empty() ? 0 : rig.exchanges.front().refused;
  }

  std::unique_ptr<net::Loop> loop = std::move(*net::Loop::create());
  FakePeer peer;
  net::ConnectionFacts facts;
  std::shared_ptr<http::Limits> limits;
  std::list<Exchange> exchanges;
  std::function<void(Exchange&)> prepare;
  bool give_credit = true;
  bool closed = false;
  std::string close_reason;
  std::unique_ptr<http::ServerConnection> connection;
};

// One request to a backend as the exchange sees it.
class BackendExchange final : public http::ClientStreamHandler {
 public:
  http::Response& response() override { return message; }
  void on_informational() override { events += std::format("info({}) ", message.status); }
  void on_response_head(bool end) override {
    events += std::format("head({}{}) ", message.status, end ? ",end" : "");
    fields = fields_text(message.fields);
    if (at_head) at_head();
  }
  void on_response_body(Slice bytes) override {
    body += as_text(bytes.bytes());
    if (credit) stream->response_consumed(bytes.size);
  }
  void on_response_end() override { events += "end "; }
  void on_request_writable() override { events += "writable "; }
  void on_response_reset(http::Abort why, bool unanswered, std::string_view what) override {
    events += std::format("reset({}{}) ", static_cast<int>(why), unanswered ? ",unanswered" : "");
    detail = what;
    sent = stream->anything_sent();
  }

  Arena arena;
  http::Response message{arena};
  http::ClientStream* stream = nullptr;
  bool credit = true;
  bool sent = false;
  std::string events, fields, body, detail;
  std::function<void()> at_head;
};

class ClientRig final : public http::ClientConnectionHandler {
 public:
  explicit ClientRig(std::shared_ptr<http::Limits> l = patient_limits()) : limits(std::move(l)) {
    connection =
        http1::make_client(*loop, std::make_unique<FakeStream>(*loop, peer), limits, *this);
  }
  ~ClientRig() {
    if (connection) connection->close();
    settle();
  }

  void on_available() override { ++available; }
  void on_client_connection_closed(std::string_view reason) override {
    closed = true;
    close_reason = reason;
    connection.reset();
  }

  BackendExchange& open() {
    BackendExchange& e = exchanges.emplace_back();
    e.stream = &connection->open_stream(e);
    return e;
  }
  // Opens a stream and sends a request without a body.
  BackendExchange& send(std::string_view method = "GET") {
    BackendExchange& e = open();
    send_on(e, method);
    settle();
    return e;
  }
  void send_on(BackendExchange& e, std::string_view method) {
    http::Request r(e.arena);
    r.method_text = method;
    r.method = http::parse_method(method);
    r.authority = "backend.test";
    r.target = "/";
    e.stream->send_request_head(r, true);
  }

  void settle() { test::settle(*loop); }
  void feed(std::string_view bytes) {
    peer.feed(bytes);
    settle();
  }
  std::string output() { return peer.take_output(); }

  std::unique_ptr<net::Loop> loop = std::move(*net::Loop::create());
  FakePeer peer;
  std::shared_ptr<http::Limits> limits;
  std::list<BackendExchange> exchanges;
  int available = 0;
  bool closed = false;
  std::string close_reason;
  std::unique_ptr<http::ClientConnection> connection;
};

}  // namespace pqedge::test
