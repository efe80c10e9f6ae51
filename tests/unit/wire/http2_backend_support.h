// A connection to a backend over a stream that is not a socket: the test is the backend, by raw
// frames.
#pragma once

#include <format>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http2_support.h"
#include "unit/wire/http1_support.h"
#include "wire/http2/client.h"

namespace pqedge::http2::test {

using pqedge::test::BackendExchange;

class BackendRig final : public http::ClientConnectionHandler {
 public:
  explicit BackendRig(ClientOptions options = {},
                      std::shared_ptr<http::Limits> l = pqedge::test::patient_limits())
      : limits(std::move(l)) {
    connection = make_client(*loop, std::make_unique<MemoryStream>(stream), limits, options, *this);
    settle();
  }
  ~BackendRig() {
    if (connection) connection->close();
    settle();
  }

  void on_available() override { ++available; }
  void on_going_away(uint64_t processed, uint64_t refused) override {
    going_away += std::format("{}/{} ", processed, refused);
  }
  void on_http11_required() override { ++http11; }
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
  // Sends the head of a request on a new stream.
  BackendExchange& send(std::string_view method = "GET", bool end = true, uint64_t length = 0) {
    BackendExchange& e = open();
    http::Request r(e.arena);
    r.method_text = method;
    r.method = http::parse_method(method);
    r.scheme = "https";
    r.authority = "backend.test";
    r.target = "/a?b";
    if (prepare) prepare(r);
    if (length > 0) {
      r.body = http::BodyKind::length;
      r.content_length = length;
    } else if (!end) {
      r.body = http::BodyKind::stream;
    }
    e.stream->send_request_head(r, end);
    settle();
    return e;
  }

  void settle() { pqedge::test::settle(*loop); }
  void feed(std::string_view bytes) {
    if (stream != nullptr) stream->receive(bytes);
    settle();
  }
  void end_input() {
    if (stream != nullptr) stream->end_input();
    settle();
  }
  // The backend's part of the preface; it takes ours, which puts our windows in force.
  void accept(std::string_view settings = {}) {
    feed(frame(FrameType::settings, 0, 0, settings) + frame(FrameType::settings, flag::kAck, 0));
  }
  // What was sent since the last call; without the client's part of the preface.
  std::vector<ParsedFrame> sent() {
    std::string bytes = stream == nullptr ? std::string() : stream->take_sent();
    if (bytes.starts_with(kPreface)) bytes.erase(0, kPreface.size());
    return parse_frames(bytes);
  }
  // Of one type alone.
  std::vector<ParsedFrame> sent(FrameType type) {
    std::vector<ParsedFrame> out;
    for (ParsedFrame& f : sent()) {
      if (f.head.type == type) out.push_back(std::move(f));
    }
    return out;
  }

  static std::string setting(uint16_t id, uint32_t value) {
    std::string out(2, '\0');
    store_be16(reinterpret_cast<uint8_t*>(out.data()), id);
    return out + be32(value);
  }
  // HEADERS with this status and END_HEADERS.
  static std::string head(uint32_t id, std::string_view status, std::string_view more = {},
                          bool end = false) {
    return frame(FrameType::headers,
                 static_cast<uint8_t>(flag::kEndHeaders | (end ? flag::kEndStream : 0)), id,
                 literal(":status", status) + std::string(more));
  }
  static std::string data(uint32_t id, std::string_view bytes, bool end = false) {
    return frame(FrameType::data, end ? flag::kEndStream : uint8_t{0}, id, bytes);
  }
  static std::string goaway(uint32_t last, ErrorCode code = ErrorCode::no_error) {
    return frame(FrameType::goaway, 0, 0, be32(last) + be32(static_cast<uint32_t>(code)));
  }
  static std::string reset(uint32_t id, ErrorCode code) {
    return frame(FrameType::rst_stream, 0, id, be32(static_cast<uint32_t>(code)));
  }

  std::unique_ptr<net::Loop> loop = std::move(*net::Loop::create());
  MemoryStream* stream = nullptr;
  std::shared_ptr<http::Limits> limits;
  std::list<BackendExchange> exchanges;
  std::function<void(http::Request&)> prepare;
  int available = 0;
  int http11 = 0;
  bool closed = false;
  std::string going_away;
  std::string close_reason;
  std::unique_ptr<http::ClientConnection> connection;
};

}  // namespace pqedge::http2::test
