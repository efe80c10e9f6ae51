// One HTTP/3 connection to a backend (RFC 9114) on a QUIC connection of ours.
//
// QPACK's dynamic table is off in both directions: the requests of many clients share a connection,
// and what one of them sends must not tell of what another sent (RFC 9204 7.1).
//
// Flow control of answers. A stream's window is Limits::body_window, and its credit is given back
// when the handler says response_consumed(). The connection's is as large as the windows of all its
// streams: a client that reads slowly holds up its own stream and no other's.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/intrusive_list.h"
#include "http/limits.h"
#include "http/stream.h"
#include "net/loop.h"
#include "wire/http3/budget.h"
#include "wire/http3/client_stream.h"
#include "wire/http3/unidirectional.h"
#include "wire/quic/client_connection.h"

namespace pqedge::http3 {

struct ClientOptions {
  uint32_t max_streams = 100;         // at a time, where the peer allows as many
  Nanos probe_timeout = 4 * kSecond;  // for a sign of life
};

class ClientConnection final : public http::ClientConnection,
                               public quic::ConnectionHandler,
                               public StreamOwner {
 public:
  ClientConnection(net::Loop& loop, std::shared_ptr<const http::Limits> limits,
                   const ClientOptions& options, http::ClientConnectionHandler& owner);
  ~ClientConnection() override;

  // Before anything comes. The QUIC connection outlives this.
  void attach(quic::ClientConnection& quic) { quic_ = &quic; }
  // The handshake is done: opens our control stream.
  void start();

  // ---- http::ClientConnection ----
  http::ClientStream& open_stream(http::ClientStreamHandler& handler) override;
  bool available() const override;
  void close() override;
  bool multiplexes() const override { return true; }
  void probe() override;
  bool quiet() const override { return quic_ != nullptr && quic_->quiet(); }

  // ---- for the streams ----
  quic::ClientConnection& quic() { return *quic_; }
  bool closing() const override { return quic_ == nullptr || quic_->closing(); }
  const http::Limits& limits() const { return *limits_; }
  QpackDecoder& decoder() { return decoder_; }
  QpackEncoder& encoder() { return encoder_; }
  RequestFields& request_fields() { return request_fields_; }
  using StreamOwner::fail;
  bool fail(ErrorCode code, const char* reason) override;
  bool charge(Nuisance kind, uint64_t times = 1) override;
  void ready(ClientStream& stream);
  void note_bad_answer();
  // The stream's object is to be destroyed.
  void stream_gone(ClientStream& stream);

 private:
  // ---- quic::ConnectionHandler ----
  quic::Stream* make_stream(int64_t id, uint64_t& code) override;
  void on_received() override;
  void before_send() override;
  void on_connection_closed(std::string_view reason) override;
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

  void deliver_ready();
  void on_life();
  void set_keep_alive();
  void on_probe_timeout();
  void tell_available();
  void finish_if_unused();
  void destroy_streams();

  net::Loop& loop_;
  const std::shared_ptr<const http::Limits> limits_;
  const ClientOptions options_;
  http::ClientConnectionHandler& owner_;
  quic::ClientConnection* quic_ = nullptr;  // null once it is over
  QpackDecoder decoder_;
  QpackEncoder encoder_;
  RequestFields request_fields_;
  Budget budget_;
  OwnStream control_;
  IntrusiveList<PeerStream> peer_streams_;               // owned
  IntrusiveList<ClientStream, ClientOpenTag> requests_;  // owned
  IntrusiveList<ClientStream, ClientReadyTag> ready_;
  uint32_t active_ = 0;  // requests whose stream is open
  uint64_t opened_ = 0;
  uint64_t goaway_ = UINT64_MAX;  // streams from here on are not processed
  uint64_t packets_at_probe_ = 0;
  bool going_away_ = false;
  bool doubtful_ = false;  // no new streams until the peer shows that it lives
  bool was_full_ = false;  // on_available() is owed when there is room
  bool kept_alive_ = false;
  std::string_view end_reason_;
  net::Timer probe_timer_;
  net::Deferred closed_work_;
};

}  // namespace pqedge::http3
