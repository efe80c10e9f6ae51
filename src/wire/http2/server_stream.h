// One request and its answer on an HTTP/2 connection: the codec's side of http::ServerStream.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/chunk.h"
#include "base/intrusive_list.h"
#include "http/priority.h"
#include "http/stream.h"
#include "net/stream.h"
#include "wire/http2/frame.h"
#include "wire/http2/owned_trailers.h"
#include "wire/http2/request_reader.h"

namespace pqedge::http2 {

class Connection;

// Tags of the lists a stream can be in.
struct OpenList;      // all that have a handler or that nghttp2 knows
struct StagedList;    // small body pieces are waiting to be handed over
struct WritableList;  // on_writable() is owed
struct ClosedList;    // nghttp2 is done with it; on_finished() is owed when the bytes are out

// Lives from HEADERS until nghttp2 closed the stream and the handler was told, then goes back to
// the thread's pool. The handler may be gone before (reset()); nothing reaches it then.
class ServerStream final : public http::ServerStream,
                           public ListNode<OpenList>,
                           public ListNode<StagedList>,
                           public ListNode<WritableList>,
                           public ListNode<ClosedList> {
 public:
  enum class RequestState : uint8_t {
    head,     // fields are being decoded
    body,     // DATA, trailers and the end may come
    dropped,  // refused (on_bad_request) or not wanted: what comes is thrown away
    complete  // END_STREAM came
  };
  enum class ResponseState : uint8_t {
    none,    // no head yet
    body,    // the head is queued, more may be sent
    ending,  // all is queued
    sent     // END_STREAM was serialised
  };

  // Body pieces of at least this size are handed over where they lie in the read chunk, which they
  // keep alive; smaller ones are copied together. So what the unread body of a stream pins is at
  // most Chunk::kCapacity / kReferenceMin times its bytes, and one chunk.
  static constexpr size_t kReferenceMin = 4096;
  // backlog() at and below which on_writable() comes.
  static constexpr size_t kLowWater = 32 * 1024;

  static ServerStream* take(Connection& connection, int32_t id);
  void give_back();

  // ---- http::ServerStream
  void send_informational(const http::Response& response) override;
  void send_head(const http::Response& response, bool end) override;
  void send_body(Slice bytes) override;
  void send_end(const http::Fields* trailers) override;
  size_t backlog() const override { return out_.size(); }
  void consumed(size_t n) override;
  void ignore_request_body() override;
  void reset(http::Abort why) override;
  void close_after() override {}
  const net::ConnectionFacts& facts() const override;
  uint64_t stream_id() const override { return static_cast<uint64_t>(id_); }
  uint64_t bytes_in() const override { return bytes_in_; }
  uint64_t bytes_out() const override { return bytes_out_; }

  // ---- from the connection: the request
  void begin_head();
  void begin_trailers();
  bool on_field(std::string_view name, std::string_view value, bool sensitive);
  void on_head_complete(bool end);
  void on_trailers_complete();
  // `bytes` lie in `chunk`.
  void on_data(const ChunkRef& chunk, Bytes bytes);
  void on_end();
  void deliver_staged();
  void refuse(uint16_t status, std::string_view reason);
  void add_bytes_in(size_t n) { bytes_in_ += n; }
  // From a PRIORITY_UPDATE that came before the request: it outdoes the request's field, which
  // nghttp2 goes by. Nothing: nghttp2 knows best.
  void set_early_priority(std::optional<http::Priority> priority) { early_priority_ = priority; }

  // ---- from the connection: the answer
  nghttp2_ssize read_data(size_t length, uint32_t* data_flags);
  // The payload of a DATA frame of `size` bytes goes to the transport.
  void take_data(size_t size, net::Stream& transport);
  void on_end_sent();
  void add_bytes_out(size_t n) { bytes_out_ += n; }
  void tell_writable();

  // ---- from the connection: the end
  // Both directions are done as they should be.
  bool finished() const {
    return response_ == ResponseState::sent &&
           (request_ == RequestState::complete || request_ == RequestState::dropped);
  }
  void tell_finished();
  void tell_reset(http::Abort why);
  void note_peer_reset() {
    peer_reset_ = true;
    abort_ = http::Abort::cancelled;
  }
  bool peer_reset() const { return peer_reset_; }
  bool own_reset() const { return own_reset_; }  // not one that the peer provoked
  http::Abort abort_reason() const { return abort_; }
  bool has_handler() const { return handler_ != nullptr; }
  int32_t id() const { return id_; }
  void set_handler(http::ServerStreamHandler& handler) {
    if (own_reset_) return;  // reset by its maker
    handler_ = &handler;
    message_ = &handler.request();
  }
  void note_closed(uint64_t offset) { closed_at_ = offset; }
  uint64_t closed_at() const { return closed_at_; }
  // Returns the connection's credit for what was handed over and will not be given back by the
  // handler any more.
  size_t take_unconsumed() { return std::exchange(unconsumed_, 0); }

  // ---- deadlines
  // In a tunnel, or in what may become one, the client may be silent.
  bool awaits_body() const { return request_ == RequestState::body && !tunnel_; }
  bool tunnel() const { return tunnel_; }
  Nanos body_progress() const { return body_progress_; }
  void touch_body(Nanos now) { body_progress_ = now; }  // the client has no credit to go on
  bool has_queued() const { return !out_.empty(); }
  Nanos send_progress() const { return send_progress_; }
  // Ends a stream whose client gives no credit.
  void reap();

 private:
  friend struct StreamPool;

  ServerStream() = default;
  void stage(Bytes bytes);
  void hand_over(Slice bytes);
  void drop_request();
  void submit_reset(ErrorCode code);
  void fail_response();
  void break_off(ErrorCode code);
  void settle_priority(const http::Response& response);

  Connection* connection_ = nullptr;
  http::ServerStreamHandler* handler_ = nullptr;
  http::Request* message_ = nullptr;  // the handler's
  int32_t id_ = 0;
  RequestState request_ = RequestState::head;
  ResponseState response_ = ResponseState::none;
  http::Abort abort_ = http::Abort::protocol_error;  // what on_reset() would say
  bool remote_ended_ = false;                        // END_STREAM came
  bool peer_reset_ = false;
  bool own_reset_ = false;
  bool deferred_ = false;      // nghttp2 waits for nghttp2_session_resume_data
  bool above_mark_ = false;    // on_writable() is owed once the backlog is low
  bool length_known_ = false;  // of the response body
  bool tunnel_ = false;        // the request asks for one (http/stream.h)
  bool connect_ = false;       // ... by CONNECT, not by an upgrade
  uint32_t unconsumed_ = 0;    // body bytes handed over, without credit given for them
  uint64_t body_received_ = 0;
  uint64_t response_left_ = 0;  // of a body with a length: bytes the handler still owes
  uint64_t bytes_in_ = 0;
  uint64_t bytes_out_ = 0;
  uint64_t closed_at_ = 0;  // what the connection had written when the last of this stream was
  Nanos body_progress_ = 0;
  Nanos send_progress_ = 0;
  std::optional<http::Priority> early_priority_;
  RequestReader reader_;
  SliceQueue out_;
  ChunkRef staging_;
  size_t staged_from_ = 0;  // bytes of staging_ handed over
  size_t staged_to_ = 0;    // bytes of staging_ filled
  std::unique_ptr<OwnedTrailers> trailers_;
};

}  // namespace pqedge::http2
