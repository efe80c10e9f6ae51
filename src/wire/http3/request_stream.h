// One request stream (RFC 9114 4.1): from its bytes to the exchange, and back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/intrusive_list.h"
#include "http/priority.h"
#include "http/stream.h"
#include "wire/http3/frame.h"
#include "wire/http3/qpack.h"
#include "wire/http3/request_fields.h"
#include "wire/quic/stream.h"

namespace pqedge::http3 {

class Connection;
struct RequestTag;
struct ReadyTag;

// What comes is only noted while datagrams are taken apart; deliver() tells the exchange when all
// of a turn's have been. So the exchange sees whole runs of body bytes, knows whether a body
// follows when the end came in the same turn as the head, and may do as it likes in each call.
class RequestStream final : public http::ServerStream,
                            public quic::Stream,
                            public ListNode<RequestTag>,
                            public ListNode<ReadyTag> {
 public:
  explicit RequestStream(Connection& connection);

  // ---- http::ServerStream ----
  void send_informational(const http::Response& response) override;
  void send_head(const http::Response& response, bool end) override;
  void send_body(Slice bytes) override;
  void send_end(const http::Fields* trailers) override;
  size_t backlog() const override { return quic::Stream::backlog(); }
  void consumed(size_t n) override;
  void ignore_request_body() override;
  void reset(http::Abort why) override;
  void close_after() override {}
  const net::ConnectionFacts& facts() const override;
  uint64_t stream_id() const override { return static_cast<uint64_t>(id()); }
  uint64_t bytes_in() const override { return bytes_received(); }
  uint64_t bytes_out() const override { return bytes_sent(); }

  // ---- for the connection ----
  // Tells the exchange what came. The object may be gone afterwards.
  void deliver();
  // The dynamic table has grown: goes on where the field section had to wait.
  void try_unblock(uint64_t insert_count);
  // The connection is over.
  void connection_lost();
  // From a PRIORITY_UPDATE: it outdoes the field of the request (RFC 9218 8).
  void update_priority(http::Priority priority);
  // One that came before the stream was known.
  void set_early_priority(http::Priority priority) { early_priority_ = priority; }
  // When it has waited too long for the peer, as things stand; kNever: it does not wait.
  Nanos deadline() const;
  void expire(Nanos now);

 private:
  // The request's frames, in the order they may come.
  enum class Phase : uint8_t { head, body, trailers, done };

  // ---- quic::Stream ----
  void on_data(Bytes bytes, bool end) override;
  void on_peer_reset(uint64_t code) override;
  void on_stream_closed(std::optional<uint64_t> code) override;
  void on_send_progress() override;

  // Receiving (request_receive.cc).
  void process(Bytes in);
  bool begin_frame();
  bool take_payload(Bytes piece);
  bool end_frame();
  bool decode(Bytes piece, bool last);
  template <typename Reader>
  bool decode_with(Reader& reader, Bytes& piece, bool last);
  bool section_done();
  bool take_body(Bytes piece);
  bool take_end();
  void hold(Bytes bytes, SliceQueue& queue);
  void refuse(uint16_t status, std::string_view reason, bool malformed = false);
  void abandon_section();
  void discard_input();
  void mark_ready();
  void deliver_later();
  bool blocked() const { return wait_for_inserts_ != 0; }
  void deliver_body();
  void gone(http::Abort why);
  Nanos send_waits_since() const;
  void finish_if_done();

  // Sending (request_send.cc).
  void write_section(std::span<const nghttp3_nv> fields);
  void write_frame_header(uint64_t type, uint64_t length);
  void merge_priority(const http::Response& response);
  void set_priority(http::Priority priority);
  void stop_input(ErrorCode code);

  Connection& c_;
  http::ServerStreamHandler* handler_ = nullptr;  // from the head until it was told the end
  FrameReader frames_;
  Phase phase_ = Phase::head;
  std::optional<FieldSection> section_;
  std::optional<RequestHeadReader> head_;
  std::optional<TrailerReader> trailers_;
  uint64_t wait_for_inserts_ = 0;  // not 0: a section waits until the table has had so many
  SliceQueue held_section_;        // of that section, come already
  SliceQueue held_;                // behind it
  SliceQueue body_;                // for the exchange
  uint64_t body_received_ = 0;
  size_t unconsumed_ = 0;    // given to the exchange, no credit yet
  uint16_t bad_status_ = 0;  // the request is refused
  std::string_view bad_reason_;
  std::optional<http::Priority> early_priority_;
  http::Abort abort_ = http::Abort::none;  // the exchange is to hear of it
  Nanos received_at_ = 0;                  // when bytes came last
  Nanos section_began_at_ = 0;             // the field section being read; at first, the stream

  bool input_ended_ = false;  // FIN or RESET_STREAM came
  bool complete_ = false;     // the whole request was taken apart
  bool discarding_ = false;   // what comes is thrown away
  bool head_ready_ = false;
  bool head_told_ = false;
  bool end_told_ = false;
  bool bad_told_ = false;
  bool closed_ = false;   // QUIC has forgotten the stream
  bool stopped_ = false;  // STOP_SENDING was sent
  bool priority_updated_ = false;
  bool tunnel_ = false;   // the request asks for one (http/stream.h)
  bool connect_ = false;  // ... by CONNECT, not by an upgrade

  bool malformed_ = false;  // the request: it is reset, and not answered
  bool response_begun_ = false;
  bool response_ended_ = false;
  std::optional<uint64_t> response_left_;  // bytes of the one DATA frame of a known length
};

}  // namespace pqedge::http3
