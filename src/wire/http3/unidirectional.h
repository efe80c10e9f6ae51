// Unidirectional streams (RFC 9114 6.2): the peer's, by their type, and our own.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/intrusive_list.h"
#include "wire/http3/budget.h"
#include "wire/http3/errors.h"
#include "wire/http3/frame.h"
#include "wire/quic/streams.h"

namespace pqedge::http3 {

class PeerStream;

enum class PeerStreamKind : uint8_t { unknown, control, qpack_encoder, qpack_decoder };

// The connection, of a server or a client, as these streams see it. What returns false has ended
// it.
class StreamOwner {
 public:
  virtual quic::Streams& streams() = 0;
  virtual bool closing() const = 0;
  // False (always): the connection ends with that error.
  virtual bool fail(ErrorCode code, const char* reason) = 0;
  bool fail(const ConnectionError& e) { return fail(e.code, e.reason); }
  // False: the connection ends, it has had too much of it.
  virtual bool charge(Nuisance kind, uint64_t times = 1) = 0;

  virtual bool on_push_stream() = 0;
  virtual bool on_settings(const PeerSettings& settings) = 0;
  virtual bool on_goaway(uint64_t id) = 0;
  virtual bool on_max_push_id(uint64_t id) = 0;
  virtual bool on_priority_update(uint64_t stream_id, std::string_view value) = 0;
  virtual bool on_encoder_stream(Bytes bytes) = 0;
  virtual bool on_decoder_stream(Bytes bytes) = 0;
  // QUIC has forgotten it: the object is to be destroyed.
  virtual void peer_stream_closed(PeerStream& stream) = 0;

  // True when the peer has no such stream yet: each may be opened once.
  bool claim(PeerStreamKind kind) {
    const auto bit = static_cast<uint8_t>(1u << static_cast<unsigned>(kind));
    if ((claimed_ & bit) != 0) return false;
    claimed_ |= bit;
    return true;
  }

 protected:
  ~StreamOwner() = default;

 private:
  uint8_t claimed_ = 0;  // kinds of peer streams, a bit each
};

// One that the peer opened. Its first bytes say what it is.
class PeerStream final : public quic::Stream, public ListNode<PeerStream> {
 public:
  explicit PeerStream(StreamOwner& owner) : c_(owner) {}

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

  StreamOwner& c_;
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
  explicit OwnStream(StreamOwner& owner) : c_(owner) {}

 private:
  void on_data(Bytes, bool) override {}
  void on_peer_reset(uint64_t) override {}
  void on_stream_closed(std::optional<uint64_t> code) override;
  void on_send_progress() override {}

  StreamOwner& c_;
};

}  // namespace pqedge::http3
