// One HTTP/2 connection to a client: bytes in and out of nghttp2, streams, limits, deadlines, and
// an end in good order (RFC 9113).
//
// Flow control of request bodies. A stream's window is Limits::body_window; the connection's is
// Limits::connection_window. Bytes handed to a handler count against both until it says consumed().
// Bytes that are dropped (padding, DATA on closed or refused streams) are given back to the
// connection at once. So a connection never holds more than connection_window of unread bodies, and
// one stream that is not read takes at most body_window of it: the rest keeps flowing. The stream
// window offered is never more than a quarter of the connection's, whatever was configured.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/chunk.h"
#include "base/intrusive_list.h"
#include "http/limits.h"
#include "http/priority.h"
#include "http/stream.h"
#include "net/stream.h"
#include "wire/http2/flood_budget.h"
#include "wire/http2/frame.h"
#include "wire/http2/frame_scanner.h"
#include "wire/http2/recent_streams.h"
#include "wire/http2/server_stream.h"
#include "wire/http2/window_watch.h"

namespace pqedge::http2 {

class Connection final : public http::ServerConnection, private net::StreamHandler {
 public:
  // Nothing more is pulled out of nghttp2 while the transport holds more than this.
  static constexpr size_t kMaxBacklog = 128 * 1024;
  // Read from one connection before the others get their turn.
  static constexpr size_t kReadBudget = 256 * 1024;
  // After the shutdown notice, a client that does not answer the PING gets the final GOAWAY.
  static constexpr Nanos kDrainGrace = kSecond;
  // Read and dropped at most after our last frame.
  static constexpr size_t kLingerBytes = 1024 * 1024;
  // A client that floods us is not waited for as long as others.
  static constexpr Nanos kFloodLinger = kSecond;

  Connection(net::Loop& loop, std::unique_ptr<net::Stream> stream,
             const net::ConnectionFacts& facts, std::shared_ptr<const http::Limits> limits,
             http::ServerConnectionHandler& handler);
  ~Connection() override;
  void start();

  // ---- http::ServerConnection
  void drain(Nanos linger) override;
  void close_now() override;
  size_t active_streams() const override { return open_count_; }

  // ---- for ServerStream
  nghttp2_session* session() { return session_; }
  const http::Limits& limits() const { return *limits_; }
  const net::ConnectionFacts& facts() const { return facts_; }
  Nanos now() const { return loop_.now(); }
  void schedule_pump() { loop_.defer(pump_work_); }
  void stage(ServerStream& stream) { staged_.push_back(stream); }
  void owe_writable(ServerStream& stream) { writable_.push_back(stream); }
  // Gives credit back: to the stream and the connection, or to the connection alone.
  void credit(int32_t stream_id, size_t n);
  void credit_connection(size_t n);
  // A rule or a limit was broken. False: the connection is about to end.
  bool charge(Charge charge);

 private:
  enum class State : uint8_t {
    open,
    notified,   // the shutdown notice is out: new streams are still taken
    draining,   // the final GOAWAY is out: what runs is finished
    lingering,  // our direction has ended; what comes is read and dropped
    closed      // on_closed() is due
  };
  struct Failure {
    ErrorCode code = ErrorCode::no_error;
    http::Abort why = http::Abort::none;
    std::string_view reason;  // empty: no failure
  };

  // net::StreamHandler
  void on_readable() override;
  void on_writable() override;
  void on_stream_error(const Error& error) override;

  // Reading (server_connection.cc).
  bool receive(const ChunkRef& chunk, Bytes bytes);
  bool feed(const ChunkRef& chunk, Bytes bytes);
  bool judge_old_stream(uint32_t stream_id, FrameType type);
  bool stop_input(bool in_path);
  void deliver_staged();
  void on_transport_end();

  // Writing.
  void pump();
  void pull();
  bool tell_writable();
  void put(Bytes bytes);
  void settle();
  void settle_finished();

  // The end.
  void fail(Failure failure);
  void fail_later(Failure failure) {
    if (failure_.reason.empty()) failure_ = failure;
  }
  bool settle_failure();
  void put_goaway(ErrorCode code, std::string_view reason);
  void begin_drain(std::string_view reason);
  void on_goaway_sent();
  void finish_drain();
  void end_in_order(std::string_view reason);
  void linger(std::string_view reason, Nanos how_long);
  void finish(std::string_view reason);
  void reset_all(http::Abort why);
  void release(ServerStream& stream);

  // Deadlines (server_deadlines.cc).
  void watch();
  void on_timer();
  bool check_head(Nanos now);
  bool check_transport(Nanos now);
  void check_streams(Nanos now);
  void check_body(ServerStream& stream, Nanos now);
  bool check_idle(Nanos now);

  // nghttp2 (server_callbacks.cc).
  friend struct SessionCallbacks;

  net::Loop& loop_;
  std::unique_ptr<net::Stream> stream_;
  const net::ConnectionFacts& facts_;
  std::shared_ptr<const http::Limits> limits_;
  http::ServerConnectionHandler& handler_;
  nghttp2_session* session_ = nullptr;

  State state_ = State::open;
  bool close_asked_ = false;
  bool peer_ended_ = false;
  bool ping_out_ = false;    // that of the shutdown notice
  uint32_t open_count_ = 0;  // streams that are not released
  uint64_t requests_ = 0;
  size_t linger_left_ = kLingerBytes;
  bool input_stopped_ = false;  // what comes is dropped, what runs is finished
  bool errors_sent_ = false;    // nghttp2 ended the session with an error
  uint64_t written_ = 0;        // bytes given to the transport
  std::string_view end_reason_;
  Failure failure_;

  FloodBudget budget_;
  FrameScanner scanner_;
  RecentStreams recent_;
  http::EarlyPriorities early_priorities_;
  WindowWatch windows_;
  const ChunkRef* feeding_ = nullptr;  // the chunk that nghttp2 is reading from
  ServerStream* decoding_ = nullptr;   // whose field section nghttp2 is decoding
  size_t block_bytes_ = 0;             // of that section's frames

  IntrusiveList<ServerStream, OpenList> open_;
  IntrusiveList<ServerStream, StagedList> staged_;
  IntrusiveList<ServerStream, WritableList> writable_;
  IntrusiveList<ServerStream, ClosedList> closing_;    // their last bytes are not counted yet
  IntrusiveList<ServerStream, ClosedList> finishing_;  // wait for the transport

  net::Deferred pump_work_;
  net::Deferred closed_work_;
  net::Timer read_again_;
  net::Timer timer_;
  Nanos tick_ = kSecond;
  Nanos idle_since_ = 0;
  Nanos state_until_ = kNever;   // when `notified` or `lingering` ends at the latest
  uint64_t transport_took_ = 0;  // of written_, when last looked at
  Nanos transport_progress_ = 0;
};

}  // namespace pqedge::http2
