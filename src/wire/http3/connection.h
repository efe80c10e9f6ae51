// One HTTP/3 connection of a server (RFC 9114) on a QUIC connection.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "base/intrusive_list.h"
#include "http/limits.h"
#include "http/priority.h"
#include "http/stream.h"
#include "net/loop.h"
#include "wire/http3/budget.h"
#include "wire/http3/errors.h"
#include "wire/http3/frame.h"
#include "wire/http3/qpack.h"
#include "wire/http3/request_stream.h"
#include "wire/http3/response_fields.h"
#include "wire/http3/unidirectional.h"
#include "wire/quic/connection.h"

namespace pqedge::http3 {

class Connection final : public http::ServerConnection,
                         public quic::ConnectionHandler,
                         public StreamOwner {
 public:
  Connection(quic::Connection& quic, std::shared_ptr<const http::Limits> limits);
  ~Connection() override;

  // Opens our control and QPACK streams. Requests go to `handler`, which is set before any comes.
  void start();
  void set_handler(http::ServerConnectionHandler& handler) { handler_ = &handler; }

  // ---- http::ServerConnection ----
  void drain(Nanos linger) override;
  void close_now() override;
  size_t active_streams() const override { return active_; }

  // ---- for the streams ----
  quic::Connection& quic() { return *quic_; }
  bool closing() const override { return quic_ == nullptr || quic_->closing(); }
  Nanos now() const { return loop_.now(); }
  const http::Limits& limits() const { return *limits_; }
  const net::ConnectionFacts& facts() const { return facts_; }
  using StreamOwner::fail;
  bool fail(ErrorCode code, const char* reason) override;
  bool charge(Nuisance kind, uint64_t times = 1) override;

  http::ServerStreamHandler* begin_request(RequestStream& stream);
  void ready(RequestStream& stream);
  bool section_blocked();
  void section_unblocked() { --blocked_sections_; }
  void request_closed(RequestStream& stream);
  void watch(Nanos deadline);
  QpackDecoder& decoder() { return decoder_; }
  QpackEncoder& encoder() { return encoder_; }
  ResponseFields& response_fields() { return response_fields_; }
  void write_encoder_stream(Bytes instructions);

 private:
  // ---- StreamOwner ----
  quic::Streams& streams() override { return *quic_; }
  bool on_push_stream() override;
  bool on_settings(const PeerSettings& settings) override;
  bool on_goaway(uint64_t id) override;
  bool on_max_push_id(uint64_t id) override;
  bool on_priority_update(uint64_t stream_id, std::string_view value) override;
  bool on_encoder_stream(Bytes bytes) override;
  bool on_decoder_stream(Bytes bytes) override;
  void peer_stream_closed(PeerStream& stream) override;
  // ---- quic::ConnectionHandler ----
  quic::Stream* make_stream(int64_t id, uint64_t& code) override;
  void on_handshake_confirmed() override { facts_ = quic_->facts(); }
  void on_received() override;
  void before_send() override;
  void on_connection_closed(std::string_view reason) override;

  void send_goaway(uint64_t id);
  void on_drain_timer();
  void close_if_drained();
  void on_timer();
  void destroy_streams();

  enum class Drain : uint8_t { none, announced, final };

  quic::Connection* quic_;
  net::Loop& loop_;
  net::ConnectionFacts facts_;
  std::shared_ptr<const http::Limits> limits_;
  http::ServerConnectionHandler* handler_ = nullptr;
  QpackDecoder decoder_;
  QpackEncoder encoder_;
  ResponseFields response_fields_;
  Budget budget_;

  OwnStream control_;
  OwnStream encoder_stream_;
  OwnStream decoder_stream_;
  IntrusiveList<PeerStream> peer_streams_;             // owned
  IntrusiveList<RequestStream, RequestTag> requests_;  // owned
  IntrusiveList<RequestStream, ReadyTag> ready_;
  size_t active_ = 0;  // requests whose stream is open
  size_t blocked_sections_ = 0;
  uint64_t requests_seen_ = 0;
  int64_t next_request_ = 0;   // one past the highest request stream ID seen
  uint64_t instructions_ = 0;  // encoder-stream bytes not yet paid for by requests
  uint64_t pings_seen_ = 0;
  uint64_t peer_goaway_ = UINT64_MAX;
  uint64_t max_push_id_ = 0;
  Nanos idle_since_ = 0;
  Drain drain_ = Drain::none;
  Nanos grace_ = 0;         // from the last request's end to the close
  net::Timer timer_;        // what waits for the peer
  net::Timer drain_timer_;  // between the two GOAWAYs, and from the second to the close

  http::EarlyPriorities early_priorities_;
};

}  // namespace pqedge::http3
