// One HTTP/2 connection to a backend: bytes in and out of nghttp2, streams, and its end.
//
// Flow control of answers. A stream's window is Limits::body_window, and its credit is given back
// when the handler says response_consumed(). The connection's is given back as soon as bytes come:
// a client that reads slowly holds up its own stream and no other's. So a connection holds at most
// a stream's window times the number of streams.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/chunk.h"
#include "base/intrusive_list.h"
#include "http/limits.h"
#include "http/stream.h"
#include "net/stream.h"
#include "wire/http2/client.h"
#include "wire/http2/client_stream.h"
#include "wire/http2/frame.h"
#include "wire/http2/frame_watch.h"
#include "wire/http2/window_watch.h"

namespace pqedge::http2 {

class ClientConnection final : public http::ClientConnection, private net::StreamHandler {
 public:
  // Nothing more is pulled out of nghttp2 while the transport holds more than this.
  static constexpr size_t kMaxBacklog = 128 * 1024;
  // Read from one connection before the others get their turn.
  static constexpr size_t kReadBudget = 256 * 1024;
  // A connection that was unused for longer is asked whether it lives, beside its next request.
  static constexpr Nanos kLongUnused = 10 * kSecond;

  ClientConnection(net::Loop& loop, std::unique_ptr<net::Stream> stream,
                   std::shared_ptr<const http::Limits> limits, const ClientOptions& options,
                   http::ClientConnectionHandler& owner);
  ~ClientConnection() override;
  void start();

  // ---- http::ClientConnection
  http::ClientStream& open_stream(http::ClientStreamHandler& handler) override;
  bool available() const override;
  void close() override;
  bool multiplexes() const override { return true; }
  void probe() override;
  bool quiet() const override;

  // ---- for ClientStream
  nghttp2_session* session() { return session_; }
  const http::Limits& limits() const { return *limits_; }
  void schedule_pump() { loop_.defer(pump_work_); }
  void stage(ClientStream& stream) { staged_.push_back(stream); }
  void owe_writable(ClientStream& stream) { writable_.push_back(stream); }
  void owe_failure(ClientStream& stream) {
    failed_.push_back(stream);
    schedule_pump();
  }
  // Whether a byte of what was written from `offset` on was given to the kernel.
  bool is_sent(uint64_t offset) const;
  // Gives the connection's credit back.
  void credit_connection(size_t n);
  void note_id(int32_t id) { highest_id_ = id; }
  // There are no identifiers left.
  void exhaust() { going_away_ = true; }
  void release(ClientStream& stream);

 private:
  // net::StreamHandler
  void on_readable() override;
  void on_writable() override;
  void on_stream_error(const Error& error) override;

  // Reading.
  bool feed(const ChunkRef& chunk, Bytes bytes);
  void deliver_staged();
  void on_transport_end();
  void on_life();

  // Writing.
  void pump();
  void pull();
  bool tell_writable();
  void tell_failures();
  void put(Bytes bytes);
  void settle();

  // What the peer says.
  void on_goaway(const nghttp2_goaway& goaway);
  void on_settings();
  void on_stream_gone(ClientStream& stream, int32_t id, uint32_t code);

  // The end.
  void fail_later(http::Abort why, std::string_view detail);
  void fail(http::Abort why, std::string_view detail);
  void finish(std::string_view reason);
  void send_ping();
  void on_timer();

  // nghttp2 (client_callbacks.cc).
  friend struct ClientCallbacks;

  net::Loop& loop_;
  const std::unique_ptr<net::Stream> stream_;
  const std::shared_ptr<const http::Limits> limits_;
  const ClientOptions options_;
  http::ClientConnectionHandler& owner_;
  nghttp2_session* session_ = nullptr;

  bool closed_ = false;      // the owner is told, or about to be
  bool close_due_ = false;   // close() was called
  bool going_away_ = false;  // no new streams
  bool settings_seen_ = false;
  bool errors_sent_ = false;  // nghttp2 ended the session with an error
  bool ping_out_ = false;
  bool doubtful_ = false;        // no new streams until the peer shows that it lives
  bool available_due_ = false;   // the owner is to be told
  uint32_t peer_streams_ = 100;  // that it allows at a time; before its SETTINGS (RFC 9113 6.5.2)
  uint32_t open_count_ = 0;
  uint64_t requests_ = 0;
  uint64_t written_ = 0;     // bytes given to the transport
  uint64_t taken_ = 0;       // of them, by the kernel: when the connection ended
  int32_t goaway_last_ = 0;  // with going_away_ by the peer: the last stream it took
  int32_t highest_id_ = 0;
  Nanos last_life_ = 0;  // when something came
  http::Abort failure_ = http::Abort::none;
  std::string_view failure_detail_;
  std::string_view end_reason_;

  FrameWatch frames_;
  WindowWatch windows_;
  const ChunkRef* feeding_ = nullptr;  // the chunk that nghttp2 is reading from
  IntrusiveList<ClientStream, ClientOpenList> open_;
  IntrusiveList<ClientStream, ClientStagedList> staged_;
  IntrusiveList<ClientStream, ClientWritableList> writable_;
  IntrusiveList<ClientStream, ClientFailedList> failed_;

  net::Deferred pump_work_;
  net::Deferred closed_work_;
  net::Timer read_again_;
  net::Timer timer_;
};

// A new nghttp2 session for the connection; null: no memory.
nghttp2_session* new_client_session(ClientConnection& connection);

}  // namespace pqedge::http2
