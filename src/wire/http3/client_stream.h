// One request of ours and its answer on an HTTP/3 connection to a backend (RFC 9114 4.1).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/chunk.h"
#include "base/intrusive_list.h"
#include "http/stream.h"
#include "wire/http3/budget.h"
#include "wire/http3/client_fields.h"
#include "wire/http3/frame.h"
#include "wire/http3/qpack.h"
#include "wire/http3/request_fields.h"
#include "wire/quic/stream.h"

namespace pqedge::http3 {

class ClientConnection;
struct ClientOpenTag;
struct ClientReadyTag;

// What comes is only kept while datagrams are taken apart, within the window that QUIC has granted;
// deliver() takes it apart and tells the handler, as far as the handler has given credit. So its
// calls come outside of all others, and it may do as it likes in each.
class ClientStream final : public http::ClientStream,
                           public quic::Stream,
                           public ListNode<ClientOpenTag>,
                           public ListNode<ClientReadyTag> {
 public:
  ClientStream(ClientConnection& connection, http::ClientStreamHandler& handler, uint64_t earlier)
      : c_(connection), handler_(&handler), earlier_(earlier) {}

  // ---- http::ClientStream ----
  void send_request_head(const http::Request& request, bool end) override;
  void send_request_body(Slice bytes) override;
  void send_request_end(const http::Fields* trailers) override;
  size_t request_backlog() const override { return quic::Stream::backlog(); }
  void response_consumed(size_t n) override;
  void cancel() override;
  bool anything_sent() const override { return bytes_sent() > 0; }
  uint64_t earlier_requests() const override { return earlier_; }

  // ---- for the connection ----
  // Tells the handler what came. The object may be gone afterwards.
  void deliver();
  // The request was surely not processed: told from deliver(), which follows in this turn.
  void refuse_unprocessed(std::string_view detail);
  // QUIC did not open it after all.
  void fail_unopened() {
    closed_ = true;
    refuse_unprocessed("the backend takes no more requests on the connection");
  }
  // The connection is over: what came is told, and that no more will.
  void connection_lost(std::string_view detail);
  bool awaits_answer() const { return handler_ != nullptr && !answered_; }

 private:
  enum class Phase : uint8_t { head, body, trailers, done };

  // ---- quic::Stream ----
  void on_data(Bytes bytes, bool end) override;
  void on_peer_reset(uint64_t code) override;
  void on_stream_closed(std::optional<uint64_t> code) override;
  void on_send_progress() override;

  void write_section(std::span<const nghttp3_nv> fields);
  void write_data_header(uint64_t length);

  void deliver_input();
  bool step();
  bool begin_frame();
  bool decode(Bytes piece, bool last);
  bool head_done();
  bool take_body(Slice piece);
  void take_end();
  http::ClientStreamHandler& end_response();
  bool reading_data() const { return frames_.type() == frame::kData && frames_.remaining() > 0; }
  bool input_over() const { return input_ended_ && input_.empty(); }

  void fail(http::Abort why, std::string_view detail);
  bool refuse(std::string_view detail);
  bool break_off(ErrorCode code, const char* reason);
  bool charge(Nuisance kind);
  void tell_failure();
  void let_go(ErrorCode code);

  ClientConnection& c_;
  http::ClientStreamHandler* handler_;  // null: it hears nothing any more
  const uint64_t earlier_;
  FrameReader frames_;
  Phase phase_ = Phase::head;
  SliceQueue input_;       // come, and not looked at
  size_t unconsumed_ = 0;  // body bytes given to the handler, no credit yet
  std::optional<FieldSection> section_;
  std::optional<ResponseHeadReader> head_;
  std::optional<TrailerReader> trailers_;
  std::optional<uint64_t> body_left_;     // of an answer with a length
  std::optional<uint64_t> request_left_;  // of the one DATA frame of a known length
  http::Method method_ = http::Method::get;
  uint8_t informationals_ = 0;
  http::Abort abort_ = http::Abort::none;  // the handler is to hear of it
  std::string_view detail_;                // static
  bool refused_ = false;                   // surely not processed
  bool input_ended_ = false;               // FIN came
  bool answered_ = false;                  // something of an answer came
  bool response_ended_ = false;            // and was told
  bool request_ended_ = false;
  bool discarding_ = false;  // what comes is thrown away
  bool closed_ = false;      // QUIC has forgotten the stream
};

}  // namespace pqedge::http3
