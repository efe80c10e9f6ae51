#include "wire/http3/connection.h"

#include <algorithm>
#include <utility>

#include "base/counters.h"
#include "wire/quic/varint.h"

namespace pqedge::http3 {
namespace {

const counters::Counter kConnections{"pqedge_http3_connections_total",
                                     "HTTP/3 connections whose handshake completed"};
const counters::Counter kRequests{"pqedge_http3_requests_total", "HTTP/3 requests begun"};
const counters::Counter kErrors{"pqedge_http3_connection_errors_total",
                                "HTTP/3 connections ended since the client broke the protocol"};

// What may be announced before it is known which requests are under way (RFC 9114 5.2).
constexpr uint64_t kShutdownNotice = (uint64_t{1} << 62) - 4;
// Encoder-stream bytes that one request may need, and that a connection may be ahead.
constexpr uint64_t kInstructionsARequest = 2048;
constexpr uint64_t kInstructionsAhead = 16 * 1024;
constexpr uint64_t kInstructionsCharged = 64;  // bytes to one charge

// Of a connection that ends by its own limits, not with the process.
constexpr Nanos kGrace = kSecond;

constexpr quic::Precedence kCritical{.level = quic::Precedence::kCritical};

}  // namespace

Connection::Connection(quic::Connection& quic, std::shared_ptr<const http::Limits> limits)
    : quic_(&quic),
      loop_(quic.loop()),
      facts_(quic.facts()),
      limits_(std::move(limits)),
      decoder_(limits_->max_streams),
      control_(*this),
      encoder_stream_(*this),
      decoder_stream_(*this),
      idle_since_(loop_.now()),
      timer_([](void* self) { static_cast<Connection*>(self)->on_timer(); }, this),
      drain_timer_([](void* self) { static_cast<Connection*>(self)->on_drain_timer(); }, this) {
  kConnections.add();
}

Connection::~Connection() {
  if (quic_ != nullptr) {
    quic_->close(static_cast<uint64_t>(ErrorCode::no_error), {});
    quic_->detach_handler();
  }
  destroy_streams();
}

void Connection::destroy_streams() {
  requests_.for_each([](RequestStream& s) { delete &s; });
  peer_streams_.for_each([](PeerStream& s) { delete &s; });
  active_ = 0;
}

void Connection::start() {
  struct Opening {
    OwnStream& stream;
    uint64_t type;
  };
  for (const auto& [stream, type] : {Opening{control_, stream_type::kControl},
                                     Opening{encoder_stream_, stream_type::kQpackEncoder},
                                     Opening{decoder_stream_, stream_type::kQpackDecoder}}) {
    if (!quic_->open_unidirectional(stream)) {  // RFC 9114 6.2 wants room for three
      fail(ErrorCode::general_protocol_error, "the client allows too few unidirectional streams");
      return;
    }
    quic_->set_precedence(stream, kCritical);
    const uint8_t byte = static_cast<uint8_t>(type);
    quic_->write_copy(stream, {&byte, 1});
  }
  uint8_t settings[kMaxSettingsFrame];
  const size_t size = store_settings(settings, {.qpack_max_table_capacity = kQpackTableCapacity,
                                                .qpack_blocked_streams = kQpackBlockedStreams,
                                                .max_field_section_size = limits_->max_head,
                                                .connect_protocol = limits_->connect_protocol,
                                                .grease = facts_.id * 0x9e3779b97f4a7c15});
  quic_->write_copy(control_, {settings, size});
  watch(loop_.now() + limits_->idle_timeout);
}

bool Connection::fail(ErrorCode code, const char* reason) {
  if (!closing()) {
    kErrors.add();
    quic_->close(static_cast<uint64_t>(code), reason);
  }
  return false;
}

bool Connection::charge(Nuisance kind, uint64_t times) {
  if (budget_.charge(kind, loop_.now(), times)) return true;
  return fail(ErrorCode::excessive_load, "the connection's budget is spent");
}

// ---- streams ------------------------------------------------------------------------------------

quic::Stream* Connection::make_stream(int64_t id, uint64_t& code) {
  if (!quic::is_bidirectional(id)) {
    auto* stream = new PeerStream(*this);
    peer_streams_.push_back(*stream);
    return stream;
  }
  if (drain_ == Drain::final && id >= next_request_) {
    code = static_cast<uint64_t>(ErrorCode::request_rejected);
    return nullptr;
  }
  next_request_ = std::max(next_request_, id + 4);
  auto* stream = new RequestStream(*this);
  requests_.push_back(*stream);
  ++active_;
  if (const auto early = early_priorities_.take(id)) stream->set_early_priority(*early);
  watch(loop_.now() + limits_->header_timeout);
  return stream;
}

http::ServerStreamHandler* Connection::begin_request(RequestStream& stream) {
  kRequests.add();
  if (++requests_seen_ == limits_->max_requests) drain(kGrace);
  instructions_ -= std::min(instructions_, kInstructionsARequest);
  return &handler_->on_stream(stream);
}

void Connection::request_closed(RequestStream& stream) {
  --active_;
  delete &stream;
  if (active_ == 0) {
    idle_since_ = loop_.now();
    watch(idle_since_ + limits_->idle_timeout);
  }
  if (closing()) return;
  quic_->allow_stream(true);
  close_if_drained();
}

void Connection::peer_stream_closed(PeerStream& stream) {
  delete &stream;
  if (!closing()) quic_->allow_stream(false);
}

bool Connection::on_push_stream() {
  return fail(ErrorCode::stream_creation_error, "a client opened a push stream");
}

// ---- a turn -------------------------------------------------------------------------------------

void Connection::ready(RequestStream& stream) {
  if (!static_cast<ListNode<ReadyTag>&>(stream).linked()) ready_.push_back(stream);
}

void Connection::on_received() {
  const uint64_t pings = quic_->pings_received();
  const uint64_t more = pings - std::exchange(pings_seen_, pings);
  if (more > 0 && !charge(Nuisance::ping, more)) return;
  // What the streams do may make others ready, which belong to this turn too: but not for ever.
  IntrusiveList<RequestStream, ReadyTag> batch;
  batch.splice_back(ready_);
  while (!batch.empty()) batch.pop_front().deliver();
}

void Connection::before_send() {
  while (!ready_.empty() && !closing()) {
    IntrusiveList<RequestStream, ReadyTag> batch;
    batch.splice_back(ready_);
    while (!batch.empty()) batch.pop_front().deliver();
  }
  if (closing()) return;
  if (const size_t size = decoder_.pending(); size > 0) {
    std::array<uint8_t, 512> room;
    std::vector<uint8_t> more(size > room.size() ? size : 0);
    const MutableBytes out = more.empty() ? MutableBytes(room) : MutableBytes(more);
    quic_->write_copy(decoder_stream_, out.first(decoder_.write(out)));
  }
}

void Connection::on_connection_closed(std::string_view reason) {
  quic_ = nullptr;
  timer_.disarm();
  drain_timer_.disarm();
  requests_.for_each([](RequestStream& s) { s.connection_lost(); });
  destroy_streams();
  handler_->on_closed(reason);  // destroys this
}

// ---- what the peer's own streams say -----------------------------------------------------------

bool Connection::on_settings(const PeerSettings& settings) {
  encoder_.allow(settings.qpack_max_table_capacity, settings.qpack_blocked_streams);
  return true;
}

bool Connection::on_goaway(uint64_t id) {
  // A client's names a push; we make none. It must not grow (RFC 9114 5.2).
  if (id > peer_goaway_) return fail(ErrorCode::id_error, "GOAWAY with a larger identifier");
  peer_goaway_ = id;
  return charge(Nuisance::control_frame);
}

// We push nothing, but it must not shrink (RFC 9114 7.2.7).
bool Connection::on_max_push_id(uint64_t id) {
  if (id < max_push_id_) return fail(ErrorCode::id_error, "MAX_PUSH_ID with a smaller identifier");
  max_push_id_ = id;
  return charge(Nuisance::control_frame);
}

// RFC 9218 7.2.
bool Connection::on_priority_update(uint64_t stream_id, std::string_view value) {
  const auto id = static_cast<int64_t>(stream_id);
  if (!quic::is_bidirectional(id) || !quic::is_client_initiated(id)) {
    return fail(ErrorCode::id_error, "PRIORITY_UPDATE of no request stream");
  }
  if (!quic_->may_open(id)) {
    return fail(ErrorCode::id_error, "PRIORITY_UPDATE beyond the stream limit");
  }
  if (!charge(Nuisance::priority_update)) return false;
  const http::Priority priority = http::parse_priority(value);
  if (quic::Stream* stream = quic_->find_stream(id); stream != nullptr) {
    static_cast<RequestStream*>(stream)->update_priority(priority);
  } else if (id >= next_request_) {
    early_priorities_.remember(id, priority);
  }
  return true;
}

bool Connection::on_encoder_stream(Bytes bytes) {
  instructions_ += bytes.size();
  if (instructions_ > kInstructionsAhead) {
    const uint64_t excess = instructions_ - kInstructionsAhead;
    if (!charge(Nuisance::qpack_instructions, excess / kInstructionsCharged + 1)) return false;
    instructions_ = kInstructionsAhead;
  }
  if (auto read = decoder_.read_encoder_stream(bytes); !read) return fail(read.error());
  if (blocked_sections_ == 0) return true;
  const uint64_t count = decoder_.insert_count();
  requests_.for_each([&](RequestStream& s) {
    if (!closing()) s.try_unblock(count);
  });
  return !closing();
}

bool Connection::on_decoder_stream(Bytes bytes) {
  auto read = encoder_.read_decoder_stream(bytes);
  return read ? true : fail(read.error());
}

bool Connection::section_blocked() {
  if (++blocked_sections_ > kQpackBlockedStreams) {
    return fail(ErrorCode::qpack_decompression_failed,
                "more streams are blocked than SETTINGS allow");
  }
  return charge(Nuisance::qpack_blocked);
}

void Connection::write_encoder_stream(Bytes instructions) {
  if (!instructions.empty()) quic_->write_copy(encoder_stream_, instructions);
}

// ---- the end ------------------------------------------------------------------------------------

void Connection::send_goaway(uint64_t id) {
  uint8_t frame[24];
  uint8_t* const body = store_frame_header(frame, frame::kGoaway, quic::varint_size(id));
  const uint8_t* const end = quic::store_varint(body, id);
  quic_->write_copy(control_, {frame, end});
}

// First a notice that names no request, and when all that was sent before it has surely come, the
// GOAWAY that does (RFC 9114 5.2).
void Connection::drain(Nanos linger) {
  if (closing() || drain_ != Drain::none) return;
  drain_ = Drain::announced;
  grace_ = linger;
  send_goaway(kShutdownNotice);
  drain_timer_.arm(loop_, std::clamp(2 * quic_->probe_timeout(), 20 * kMillisecond, 2 * kSecond));
}

void Connection::on_drain_timer() {
  if (closing()) return;
  if (drain_ == Drain::announced) {
    drain_ = Drain::final;
    send_goaway(static_cast<uint64_t>(next_request_));
  }
  close_if_drained();
}

// Not at once after a request: what a client's QUIC has acknowledged its application may not have
// read, and clients (curl among them) drop that where the close comes before they have. Those that
// understand GOAWAY close by themselves, without waiting.
void Connection::close_if_drained() {
  if (drain_ != Drain::final || active_ != 0) return;
  const Nanos end = idle_since_ + grace_;
  if (loop_.now() < end) {
    drain_timer_.arm_at(loop_, end);
  } else {
    quic_->close(static_cast<uint64_t>(ErrorCode::no_error), {}, true);
  }
}

void Connection::close_now() {
  if (!closing()) quic_->close(static_cast<uint64_t>(ErrorCode::no_error), "the server ends");
}

// ---- time ---------------------------------------------------------------------------------------

void Connection::watch(Nanos deadline) {
  if (deadline == kNever) return;
  if (!timer_.armed() || deadline < timer_.deadline()) timer_.arm_at(loop_, deadline);
}

void Connection::on_timer() {
  if (closing()) return;
  const Nanos now = loop_.now();
  if (active_ == 0 && idle_since_ + limits_->idle_timeout <= now) {
    drain(kGrace);
    return;
  }
  Nanos next = active_ == 0 ? idle_since_ + limits_->idle_timeout : kNever;
  requests_.for_each([&](RequestStream& s) {
    s.expire(now);
    next = std::min(next, s.deadline());
  });
  if (closing()) return;
  watch(next);
  if (!ready_.empty()) quic_->wake();
}

}  // namespace pqedge::http3
