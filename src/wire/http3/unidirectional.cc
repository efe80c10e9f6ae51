#include "wire/http3/unidirectional.h"

#include "base/bytes.h"
#include "wire/quic/varint.h"

namespace pqedge::http3 {
namespace {

// Control frames longer than this have nothing to say that we would act on.
constexpr uint64_t kMaxControlFrame = 4096;

}  // namespace

void PeerStream::on_data(Bytes bytes, bool end) {
  if (c_.closing()) return;
  const size_t size = bytes.size();
  if (!typed_) {
    if (type_.read(bytes)) {
      typed_ = true;
      if (!begin()) return;
    }
  }
  if (typed_ && !bytes.empty() && !process(bytes)) return;
  c_.streams().consumed(*this, size);
  if (end && critical()) {
    c_.fail(ErrorCode::closed_critical_stream, "a critical stream was closed");
  }
}

bool PeerStream::begin() {
  switch (type_.value()) {
    case stream_type::kControl: kind_ = PeerStreamKind::control; break;
    case stream_type::kQpackEncoder: kind_ = PeerStreamKind::qpack_encoder; break;
    case stream_type::kQpackDecoder: kind_ = PeerStreamKind::qpack_decoder; break;
    case stream_type::kPush: return c_.on_push_stream();
    default:  // unknown and reserved types are not an error (RFC 9114 6.2)
      c_.streams().stop_reading(*this, static_cast<uint64_t>(ErrorCode::stream_creation_error));
      return c_.charge(Nuisance::unknown_stream);
  }
  if (!c_.claim(kind_)) {
    return c_.fail(ErrorCode::stream_creation_error, "a critical stream was opened twice");
  }
  return true;
}

bool PeerStream::process(Bytes in) {
  switch (kind_) {
    case PeerStreamKind::control: return process_control(in);
    case PeerStreamKind::qpack_encoder: return c_.on_encoder_stream(in);
    case PeerStreamKind::qpack_decoder: return c_.on_decoder_stream(in);
    case PeerStreamKind::unknown: break;
  }
  return true;
}

bool PeerStream::process_control(Bytes in) {
  for (;;) {
    switch (frames_.next(in)) {
      case FrameReader::Event::more: return true;
      case FrameReader::Event::begin:
        if (!begin_frame()) return false;
        break;
      case FrameReader::Event::payload:
        if (keep_payload_) {
          const Bytes piece = frames_.payload();
          payload_.insert(payload_.end(), piece.begin(), piece.end());
        }
        break;
      case FrameReader::Event::end:
        if (!end_frame()) return false;
        break;
    }
  }
}

bool PeerStream::begin_frame() {
  const uint64_t type = frames_.type();
  payload_.clear();
  keep_payload_ = false;
  if (!settings_seen_ && type != frame::kSettings) {
    return c_.fail(ErrorCode::missing_settings, "the control stream does not begin with SETTINGS");
  }
  switch (type) {
    case frame::kSettings:
      if (settings_seen_) return c_.fail(ErrorCode::frame_unexpected, "SETTINGS came twice");
      settings_seen_ = true;
      break;
    case frame::kGoaway:
    case frame::kMaxPushId:
    case frame::kPriorityUpdate: break;
    case frame::kCancelPush:  // nothing was ever promised
    case frame::kPriorityUpdatePush:
      return c_.fail(ErrorCode::id_error, "a frame names a push that was not promised");
    case frame::kData:
    case frame::kHeaders:
    case frame::kPushPromise:
      return c_.fail(ErrorCode::frame_unexpected,
                     "a frame that has no place on the control stream");
    default:
      if (frame::is_of_http2(type)) {
        return c_.fail(ErrorCode::frame_unexpected, "a frame type of HTTP/2");
      }
      return c_.charge(Nuisance::unknown_frame);
  }
  if (frames_.length() > kMaxControlFrame) {
    return c_.fail(ErrorCode::excessive_load, "a control frame is too long");
  }
  keep_payload_ = true;
  return true;
}

bool PeerStream::end_frame() {
  if (!keep_payload_) return true;
  Bytes payload = payload_;
  switch (frames_.type()) {
    case frame::kSettings: {
      const auto settings = parse_settings(payload);
      return settings ? c_.on_settings(*settings) : c_.fail(settings.error());
    }
    case frame::kGoaway: {
      const auto id = parse_id(payload);
      return id ? c_.on_goaway(*id) : c_.fail(id.error());
    }
    case frame::kMaxPushId: {
      const auto id = parse_id(payload);
      return id ? c_.on_max_push_id(*id) : c_.fail(id.error());
    }
    case frame::kPriorityUpdate: {
      uint64_t id = 0;
      if (!quic::take_varint(payload, id)) {
        return c_.fail(ErrorCode::frame_error, "PRIORITY_UPDATE is cut short");
      }
      return c_.on_priority_update(id, as_text(payload));
    }
    default: return true;
  }
}

void PeerStream::on_peer_reset(uint64_t) {
  if (critical()) c_.fail(ErrorCode::closed_critical_stream, "a critical stream was reset");
}

void PeerStream::on_stream_closed(std::optional<uint64_t>) { c_.peer_stream_closed(*this); }

void OwnStream::on_stream_closed(std::optional<uint64_t>) {
  c_.fail(ErrorCode::closed_critical_stream, "a critical stream of ours was stopped");
}

}  // namespace pqedge::http3
