// Unidirectional streams (RFC 9114 6.2): the peer's, by their type, and our own.
#pragma once

#include <cstdint>
#include <vector>

#include "base/intrusive_list.h"
#include "wire/http3/frame.h"
#include "wire/quic/stream.h"

namespace pqedge::http3 {

class Connection;

enum class PeerStreamKind : uint8_t { unknown, control, qpack_encoder, qpack_decoder };

// One that the peer opened. Its first bytes say what it is.
class PeerStream final : public quic::Stream, public ListNode<PeerStream> {
 public:
  explicit PeerStream(Connection& connection) : c_(connection) {}

 private:
  void on_data(Bytes bytes, bool end) override;
  void on_peer_reset(uint64_t code) override;
  void on_stream_closed(std::optional<uint64_t> code) override;
  void on_send_progress() override {}

  bool begin();
  bool process(Bytes in);
  bool process_control(Bytes in);
  bool begin_frame();
  bool end_frame();
  bool critical() const { return kind_ != PeerStreamKind::unknown; }

  Connection& c_;
  VarintReader type_;
  bool typed_ = false;
  PeerStreamKind kind_ = PeerStreamKind::unknown;
  FrameReader frames_;
  bool settings_seen_ = false;
  bool keep_payload_ = false;
  std::vector<uint8_t> payload_;  // of a control frame we look into, bounded
};

// One of ours: only written to.
class OwnStream final : public quic::Stream {
 public:
  explicit OwnStream(Connection& connection) : c_(connection) {}

 private:
  void on_data(Bytes, bool) override {}
  void on_peer_reset(uint64_t) override {}
  void on_stream_closed(std::optional<uint64_t> code) override;
  void on_send_progress() override {}

  Connection& c_;
};

}  // namespace pqedge::http3
