// A whole HTTP/2 connection to a backend: whatever the backend sends, the handlers are called in
// the order that http/stream.h promises, each hears of its end once, and what they have not given
// back stays within their windows.
//
// Input: two bytes (how handlers behave, how reads are cut), then what the backend sends; with bit
// 7 of the first byte its SETTINGS are left to the input.
#include <cstdint>
#include <cstdlib>
#include <list>

#include "unit/wire/http2_support.h"
#include "wire/http2/client.h"

namespace {

using namespace pqedge;
using namespace pqedge::http2::test;

class Handler final : public http::ClientStreamHandler {
 public:
  Handler(unsigned what, size_t most) : behaviour(what), window(most) {}

  http::Response& response() override { return message; }
  void on_informational() override {
    require(state == State::head && message.status >= 100 && message.status < 200);
  }
  void on_response_head(bool end) override {
    require(state == State::head && message.status >= 200);
    state = end ? State::done : State::body;
    if ((behaviour == 2 && !end) || (end && unfinished)) give_up();
  }
  void on_response_body(Slice bytes) override {
    require(state == State::body && !bytes.empty());
    kept += bytes.size;
    require(kept <= window);
    if (behaviour == 1) return;
    stream->response_consumed(bytes.size);
    kept = 0;
    if (behaviour == 3) give_up();
  }
  void on_response_end() override {
    require(state == State::body);
    state = State::done;
    if (unfinished) give_up();
  }
  void on_request_writable() override { require(state == State::head || state == State::body); }
  void on_response_reset(http::Abort why, bool, std::string_view) override {
    require(state == State::head || state == State::body);
    require(why != http::Abort::none);
    static_cast<void>(stream->anything_sent());
    state = State::done;
  }
  void give_up() {
    state = State::done;
    stream->cancel();
  }
  static void require(bool condition) {
    if (!condition) std::abort();
  }

  enum class State : uint8_t { head, body, done };
  State state = State::head;
  const unsigned behaviour;
  const size_t window;
  size_t kept = 0;
  bool unfinished = false;  // of the request not all is sent
  Arena arena;
  http::Response message{arena};
  http::ClientStream* stream = nullptr;
};

struct Owner final : http::ClientConnectionHandler {
  void on_available() override { Handler::require(!closed); }
  void on_client_connection_closed(std::string_view) override {
    closed = true;
    connection.reset();
  }
  bool closed = false;
  std::unique_ptr<http::ClientConnection> connection;
};

void turn(net::Loop& loop) {
  for (int i = 0; i < 4; ++i) loop.run_once(0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::unique_ptr<net::Loop> loop = std::move(*net::Loop::create());
  auto limits = std::make_shared<http::Limits>();
  limits->max_response_head = 4096;
  limits->max_fields = 20;
  limits->max_trailers = 1024;
  limits->body_window = 40'000;
  limits->connection_window = 80'000;
  MemoryStream* stream = nullptr;
  std::list<Handler> handlers;
  Owner owner;
  owner.connection = http2::make_client(*loop, std::make_unique<MemoryStream>(stream), limits,
                                        {.max_streams = 8}, owner);
  turn(*loop);
  for (unsigned i = 0; i < 4; ++i) {
    Handler& h = handlers.emplace_back((data[0] + i) % 4, limits->body_window);
    h.unfinished = i == 2;
    h.stream = &owner.connection->open_stream(h);
    http::Request r(h.arena);
    r.method = i == 1 ? http::Method::head : i == 2 ? http::Method::post : http::Method::get;
    r.method_text = i == 1 ? "HEAD" : i == 2 ? "POST" : "GET";
    r.authority = "a.test";
    r.target = "/";
    r.body = i == 2 ? http::BodyKind::stream : http::BodyKind::none;
    h.stream->send_request_head(r, i != 2);
  }
  turn(*loop);
  std::string input;
  if ((data[0] & 0x80) == 0) input = frame(http2::FrameType::settings, 0, 0);
  input.append(reinterpret_cast<const char*>(data) + 2, size - 2);
  const size_t piece = data[1] == 0 ? input.size() : size_t{data[1]} * 8;
  for (size_t at = 0; at < input.size() && stream != nullptr; at += piece) {
    stream->receive(std::string_view(input).substr(at, piece));
    turn(*loop);
  }
  if (stream != nullptr) {
    stream->end_input();
    turn(*loop);
  }
  if (!owner.closed) std::abort();
  for (const Handler& h : handlers) {
    if (h.state != Handler::State::done) std::abort();  // forgotten without a word
  }
  return 0;
}
