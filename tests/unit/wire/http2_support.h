// A server connection over a stream that is not a socket, driven by raw frames or by nghttp2's own
// client session. Used by the unit tests and the fuzz target of wire/http2.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/chunk.h"
#include "http/limits.h"
#include "http/stream.h"
#include "net/loop.h"
#include "net/stream.h"
#include "wire/http2/frame.h"
#include "wire/http2/server.h"

namespace pqedge::http2::test {

// What the client sends is put in with receive(); what the server sends is in sent(), as far as
// `room` lets it through.
class MemoryStream final : public net::Stream {
 public:
  explicit MemoryStream(MemoryStream*& self) : self_(self) { self_ = this; }
  ~MemoryStream() override { self_ = nullptr; }

  net::IoResult read(MutableBytes into) override {
    if (inbox_.empty()) {
      return {ended_ ? net::IoStatus::end_of_stream : net::IoStatus::would_block};
    }
    const size_t n = std::min({into.size(), inbox_.size(), largest_read});
    std::copy_n(inbox_.begin(), n, reinterpret_cast<char*>(into.data()));
    inbox_.erase(0, n);
    return {net::IoStatus::ok, n};
  }
  void write(Slice slice) override { queue_.append(as_text(slice.bytes())); }
  void write_copy(Bytes bytes) override { queue_.append(as_text(bytes)); }
  size_t backlog() const override { return queue_.size(); }
  void notify_below(size_t low) override {
    low_ = low;
    above_ = queue_.size() > low;
  }
  void flush() override {
    ++flushes;
    const size_t n = std::min(room, queue_.size());
    sent_.append(queue_, 0, n);
    queue_.erase(0, n);
    if (room != SIZE_MAX) room -= n;
  }
  void shutdown_write() override { shut = true; }
  void abort() override { aborted = true; }
  void pause_reading() override {}
  void resume_reading() override {}
  const Error& last_error() const override { return error_; }
  int fd() const override { return -1; }

  // ---- for tests
  void receive(std::string_view bytes) {
    inbox_.append(bytes);
    handler_->on_readable();
  }
  void end_input() {
    ended_ = true;
    handler_->on_readable();
  }
  void break_transport() { handler_->on_stream_error(error_); }
  // The kernel takes `n` more bytes.
  void make_room(size_t n) {
    room = n;
    flush();
    if (above_ && queue_.size() <= low_) {
      above_ = false;
      handler_->on_writable();
    }
  }
  std::string take_sent() { return std::exchange(sent_, {}); }

  size_t room = SIZE_MAX;  // bytes that the kernel will still take
  size_t largest_read = SIZE_MAX;
  int flushes = 0;
  bool shut = false;
  bool aborted = false;

 private:
  MemoryStream*& self_;
  std::string inbox_;
  std::string queue_;
  std::string sent_;
  Error error_{"broken", 0};
  size_t low_ = SIZE_MAX;
  bool above_ = false;
  bool ended_ = false;
};

// ---- raw frames

inline std::string frame(FrameType type, uint8_t flags, uint32_t stream_id,
                         std::string_view payload = {}) {
  std::string out(kFrameHeaderSize, '\0');
  FrameHeader{static_cast<uint32_t>(payload.size()), type, flags, stream_id}.store(
      reinterpret_cast<uint8_t*>(out.data()));
  return out.append(payload);
}

inline std::string be32(uint32_t v) {
  std::string out(4, '\0');
  store_be32(reinterpret_cast<uint8_t*>(out.data()), v);
  return out;
}

// A literal field without indexing, without Huffman (RFC 7541 6.2.2).
inline std::string literal(std::string_view name, std::string_view value) {
  const auto text = [](std::string_view s) {
    std::string out;
    if (s.size() < 127) {
      out += static_cast<char>(s.size());
    } else {
      out += '\x7f';
      size_t rest = s.size() - 127;
      for (; rest >= 128; rest /= 128) out += static_cast<char>(rest % 128 + 128);
      out += static_cast<char>(rest);
    }
    return out.append(s);
  };
  return std::string(1, '\0') + text(name) + text(value);
}

// :method GET, :scheme https, :path / from the static table (RFC 7541 Appendix A), and :authority.
inline std::string get_block(std::string_view authority = "a.test") {
  return "\x82\x87\x84" + literal(":authority", authority);
}
inline std::string post_block(std::string_view authority = "a.test") {
  return "\x83\x87\x84" + literal(":authority", authority);
}

// With the acknowledgement of the server's SETTINGS, which puts them in force (RFC 9113 6.5.3).
inline std::string client_preface() {
  return std::string(kPreface) + frame(FrameType::settings, 0, 0) +
         frame(FrameType::settings, flag::kAck, 0);
}

struct ParsedFrame {
  FrameHeader head;
  std::string payload;
  // Of RST_STREAM and GOAWAY.
  ErrorCode error() const {
    const size_t at = head.type == FrameType::goaway ? 4 : 0;
    if (payload.size() < at + 4) return ErrorCode{0xffffffff};
    return static_cast<ErrorCode>(load_be32(reinterpret_cast<const uint8_t*>(payload.data()) + at));
  }
};

inline std::vector<ParsedFrame> parse_frames(std::string_view bytes) {
  std::vector<ParsedFrame> out;
  while (bytes.size() >= kFrameHeaderSize) {
    const auto head = FrameHeader::parse(reinterpret_cast<const uint8_t*>(bytes.data()));
    bytes.remove_prefix(kFrameHeaderSize);
    const size_t n = std::min<size_t>(head.length, bytes.size());
    out.push_back({head, std::string(bytes.substr(0, n))});
    bytes.remove_prefix(n);
  }
  return out;
}

// ---- the exchange's side

class Server;

// Records what it is told; `at_head` and the others may answer.
class Exchange final : public http::ServerStreamHandler {
 public:
  Exchange(Server& server, http::ServerStream& stream) : server_(server), stream_(&stream) {}

  http::Request& request() override { return request_; }
  void on_head(bool end) override;
  void on_body(Slice bytes) override;
  void on_end() override;
  void on_bad_request(uint16_t status, std::string_view reason) override;
  void on_writable() override;
  void on_reset(http::Abort why) override {
    disorder |= !alive();
    reset = why;
    stream_ = nullptr;
  }
  void on_finished() override {
    disorder |= !alive() || (!ended && bad_status == 0 && !ignored);
    finished = true;
    bytes_in = stream_->bytes_in();
    bytes_out = stream_->bytes_out();
    stream_ = nullptr;
  }

  http::ServerStream& stream() { return *stream_; }
  bool alive() const { return stream_ != nullptr; }
  void forget() { stream_ = nullptr; }  // after reset()
  void ignore_body() {
    ignored = true;
    stream_->ignore_request_body();
  }

  // A whole answer.
  void answer(uint16_t status, std::string_view text = {}) {
    response.status = status;
    response.body = text.empty() ? http::BodyKind::none : http::BodyKind::length;
    response.content_length = text.size();
    stream_->send_head(response, text.empty());
    if (text.empty()) return;
    send(text);
    stream_->send_end(nullptr);
  }
  void send(std::string_view bytes) {
    copy_to_slices(as_bytes(bytes), [&](Slice s) { stream_->send_body(std::move(s)); });
  }
  void start(uint16_t status = 200) {
    response.status = status;
    response.body = http::BodyKind::stream;
    stream_->send_head(response, false);
  }

  Arena arena;
  http::Response response{arena};
  bool head = false;
  bool head_end = false;
  bool ended = false;
  bool finished = false;
  bool ignored = false;   // ignore_request_body() was called
  bool disorder = false;  // a call that http/stream.h rules out
  int writable = 0;
  int slices = 0;
  uint16_t bad_status = 0;
  std::string bad_reason;
  std::string body;
  http::Abort reset = http::Abort::none;
  uint64_t bytes_in = 0;
  uint64_t bytes_out = 0;
  std::vector<Slice> kept;  // body slices, while Server::keep_body

 private:
  Server& server_;
  http::ServerStream* stream_;
  http::Request request_{arena};
};

// The server connection and its owner.
class Server final : public http::ServerConnectionHandler {
 public:
  explicit Server(const http::Limits& l = {}) : limits(std::make_shared<http::Limits>(l)) {
    loop = std::move(*net::Loop::create());
  }
  // The connection is made late, so that a test can set the hooks first.
  void start() {
    connection = make_server(*loop, std::make_unique<MemoryStream>(stream), facts, limits, *this);
    turn();
  }

  http::ServerStreamHandler& on_stream(http::ServerStream& s) override {
    exchanges.push_back(std::make_unique<Exchange>(*this, s));
    if (at_stream) at_stream(*exchanges.back());
    return *exchanges.back();
  }
  void on_closed(std::string_view reason) override {
    closed = true;
    close_reason = reason;
    shut_at_close = stream->shut;
    last_bytes = stream->take_sent();
    connection.reset();
  }

  // Our side has ended.
  bool over() const { return stream == nullptr || stream->shut; }
  void turn() { loop->run_once(0); }
  // Raw bytes from the client, and the end of the turn.
  void receive(std::string_view bytes) {
    if (stream != nullptr) stream->receive(bytes);
    turn();
  }
  // What the server has sent since last asked.
  std::string take_sent() {
    return stream != nullptr ? stream->take_sent() : std::exchange(last_bytes, {});
  }
  std::vector<ParsedFrame> frames() { return parse_frames(take_sent()); }
  // Waits for something that a deadline of the connection brings about.
  bool run_until(const std::function<bool()>& done) {
    const Nanos limit = monotonic_now() + 10 * kSecond;
    while (!done()) {
      if (monotonic_now() > limit) return false;
      loop->run_once(100 * kMillisecond);
    }
    return true;
  }
  Exchange& exchange(size_t i) { return *exchanges.at(i); }
  Exchange& last() { return *exchanges.back(); }

  std::unique_ptr<net::Loop> loop;
  std::shared_ptr<http::Limits> limits;
  net::ConnectionFacts facts;
  MemoryStream* stream = nullptr;
  std::unique_ptr<http::ServerConnection> connection;
  std::vector<std::unique_ptr<Exchange>> exchanges;
  bool closed = false;
  bool shut_at_close = false;
  std::string close_reason;
  std::string last_bytes;

  // Hooks; without them a request is answered when it is complete, with 200 and no body.
  std::function<void(Exchange&)> at_stream;
  std::function<void(Exchange&)> at_head;
  std::function<void(Exchange&)> at_end;
  std::function<void(Exchange&)> at_bad;
  std::function<void(Exchange&)> at_writable;
  bool manual = false;     // the test answers
  bool keep_body = false;  // body bytes are not given back
};

inline void Exchange::on_head(bool end) {
  disorder |= !alive() || head || bad_status != 0;
  head = true;
  head_end = end;
  if (server_.at_head) server_.at_head(*this);
  if (end && alive()) {
    ended = true;
    if (server_.at_end) {
      server_.at_end(*this);
    } else if (!server_.manual) {
      answer(200);
    }
  }
}
inline void Exchange::on_body(Slice bytes) {
  disorder |= !alive() || !head || ended || ignored || bad_status != 0 || bytes.empty();
  ++slices;
  body.append(as_text(bytes.bytes()));
  if (server_.keep_body) {
    kept.push_back(std::move(bytes));
  } else {
    stream_->consumed(bytes.size);
  }
}
inline void Exchange::on_end() {
  disorder |= !alive() || !head || ended || ignored || bad_status != 0;
  ended = true;
  if (server_.at_end) {
    server_.at_end(*this);
  } else if (!server_.manual) {
    answer(200);
  }
}
inline void Exchange::on_bad_request(uint16_t status, std::string_view reason) {
  disorder |= !alive() || ended || bad_status != 0;
  bad_status = status;
  bad_reason = reason;
  if (server_.at_bad) {
    server_.at_bad(*this);
  } else if (!server_.manual) {
    answer(status, "refused");
  }
}
inline void Exchange::on_writable() {
  disorder |= !alive();
  ++writable;
  if (server_.at_writable) server_.at_writable(*this);
}

}  // namespace pqedge::http2::test
