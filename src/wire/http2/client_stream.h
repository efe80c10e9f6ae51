// One request and its answer on an HTTP/2 connection to a backend.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/chunk.h"
#include "base/intrusive_list.h"
#include "http/stream.h"
#include "net/stream.h"
#include "wire/http2/frame.h"
#include "wire/http2/owned_trailers.h"
#include "wire/http2/response_reader.h"
#include "wire/http2/staged_body.h"

namespace pqedge::http2 {

class ClientConnection;

// Tags of the lists a stream can be in.
struct ClientOpenList;      // all
struct ClientStagedList;    // small body pieces are waiting to be handed over
struct ClientWritableList;  // on_request_writable() is owed
struct ClientFailedList;    // a failure of ours is to be told at the end of the turn

// Lives until nghttp2 closed the stream and the handler was told, then goes back to the thread's
// pool. The handler may be gone before (cancel(), the end); nothing reaches it then.
class ClientStream final : public http::ClientStream,
                           public ListNode<ClientOpenList>,
                           public ListNode<ClientStagedList>,
                           public ListNode<ClientWritableList>,
                           public ListNode<ClientFailedList> {
 public:
  enum class Sending : uint8_t {
    head_due,
    body,    // the head is queued, more may be sent
    ending,  // all is queued
    sent     // END_STREAM was serialised
  };
  enum class Answer : uint8_t {
    head,  // it, or informational ones before it, may come
    body,
    whole
  };

  // request_backlog() at and below which on_request_writable() comes.
  static constexpr size_t kLowWater = 64 * 1024;

  static ClientStream* take(ClientConnection& connection, http::ClientStreamHandler& handler,
                            uint64_t earlier);
  void give_back();

  // ---- http::ClientStream
  void send_request_head(const http::Request& request, bool end) override;
  void send_request_body(Slice bytes) override;
  void send_request_end(const http::Fields* trailers) override;
  size_t request_backlog() const override { return out_.size(); }
  void response_consumed(size_t n) override;
  void cancel() override;
  bool anything_sent() const override;
  uint64_t earlier_requests() const override { return earlier_; }

  // ---- from the connection: the request
  nghttp2_ssize read_data(size_t length, uint32_t* data_flags);
  // The payload of a DATA frame of `size` bytes goes to the transport.
  void take_data(size_t size, net::Stream& transport);
  void on_head_leaves(uint64_t offset) {
    head_leaves_ = true;
    head_at_ = offset;
  }
  bool head_leaves() const { return head_leaves_; }
  void on_end_sent();
  void tell_writable();

  // ---- from the connection: the answer
  void begin_section();
  // False: a header bomb.
  bool on_field(std::string_view name, std::string_view value, bool sensitive);
  void on_section_end(bool end);
  // `bytes` lie in `chunk`.
  void on_data(const ChunkRef& chunk, Bytes bytes);
  void on_answer_end();
  void deliver_staged();

  // ---- from the connection: the end
  void note_peer_reset() { peer_reset_ = true; }
  bool peer_reset() const { return peer_reset_; }
  void note_not_sent(http::Abort why) { not_sent_ = why; }
  http::Abort not_sent() const { return not_sent_; }
  bool has_handler() const { return handler_ != nullptr; }
  bool answered() const { return answered_; }
  void tell_reset(http::Abort why, bool unanswered, std::string_view detail);
  // fail() remembered one.
  bool has_failed() const { return failure_ != http::Abort::none; }
  void tell_failure() { tell_reset(failure_, failure_ == http::Abort::refused, failure_detail_); }
  int32_t id() const { return id_; }

 private:
  friend struct ClientStreamPool;

  ClientStream() = default;
  void hand_over(Slice bytes);
  // Told from the end of the turn; nghttp2's stream is reset.
  void fail(http::Abort why, std::string_view detail);
  void refuse(std::string_view detail);
  void submit_reset(ErrorCode code);
  void let_go();

  ClientConnection* connection_ = nullptr;
  http::ClientStreamHandler* handler_ = nullptr;
  int32_t id_ = 0;  // 0: nghttp2 does not know it yet
  Sending sending_ = Sending::head_due;
  Answer answer_ = Answer::head;
  http::Method method_ = http::Method::get;
  http::Abort failure_ = http::Abort::none;
  http::Abort not_sent_ = http::Abort::none;  // nghttp2 could not send the head
  bool answered_ = false;                     // a head came, an informational one too
  bool own_reset_ = false;
  bool peer_reset_ = false;
  bool head_leaves_ = false;
  bool deferred_ = false;      // nghttp2 waits for nghttp2_session_resume_data
  bool above_mark_ = false;    // on_request_writable() is owed once the backlog is low
  bool length_known_ = false;  // of the request body
  uint8_t informationals_ = 0;
  uint32_t unconsumed_ = 0;  // body bytes handed over, without credit given for them
  uint64_t request_left_ = 0;
  uint64_t earlier_ = 0;
  uint64_t head_at_ = 0;  // what the connection had written before the head
  std::string_view failure_detail_;
  ResponseReader reader_;
  SliceQueue out_;
  StagedBody staged_;
  std::unique_ptr<OwnedTrailers> trailers_;
};

}  // namespace pqedge::http2
