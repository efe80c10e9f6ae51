#include "wire/http3/client_connection.h"

#include <openssl/rand.h>

#include <algorithm>
#include <utility>

#include "base/counters.h"

namespace pqedge::http3 {
namespace {

const counters::Counter kRefused{"pqedge_backend_http3_refused_requests_total",
                                 "requests that a backend refused without processing them"};
const counters::Counter kGoaways{"pqedge_backend_http3_goaways_total",
                                 "GOAWAY frames from backends over HTTP/3"};
const counters::Counter kBadAnswers{"pqedge_backend_http3_bad_responses_total",
                                    "malformed answers of backends over HTTP/3"};
const counters::Counter kBackendErrors{
    "pqedge_backend_http3_connection_errors_total",
    "HTTP/3 connections ended since the backend broke the protocol"};
const counters::Counter kSilent{"pqedge_backend_http3_silent_total",
                                "HTTP/3 connections ended since the backend gave no sign of life"};

// While an answer is waited for, below what keeps a NAT's or a server's clock from running out.
constexpr Nanos kKeepAlive = 15 * kSecond;
constexpr uint64_t kBackendInstructionsCharged = 64;  // bytes to one charge

constexpr uint64_t kNoError = static_cast<uint64_t>(ErrorCode::no_error);

}  // namespace

ClientConnection::ClientConnection(net::Loop& loop, std::shared_ptr<const http::Limits> limits,
                                   const ClientOptions& options,
                                   http::ClientConnectionHandler& owner)
    : loop_(loop),
      limits_(std::move(limits)),
      options_(options),
      owner_(owner),
      decoder_(options.max_streams, 0),
      control_(*this),
      probe_timer_([](void* self) { static_cast<ClientConnection*>(self)->on_probe_timeout(); },
                   this),
      closed_work_(
          [](void* self) {
            auto* c = static_cast<ClientConnection*>(self);
            c->owner_.on_client_connection_closed(c->end_reason_);  // destroys the connection
          },
          this) {}

ClientConnection::~ClientConnection() {
  if (quic_ != nullptr) {
    quic_->close(kNoError, {});
    quic_->detach_handler();
  }
  destroy_streams();
}

void ClientConnection::destroy_streams() {
  requests_.for_each([](ClientStream& s) { delete &s; });
  peer_streams_.for_each([](PeerStream& s) { delete &s; });
  active_ = 0;
}

// RFC 9204 4.2: without a dynamic table there is no need of streams for it.
void ClientConnection::start() {
  if (!quic_->open_unidirectional(control_)) {  // RFC 9114 6.2 wants room for three
    fail(ErrorCode::general_protocol_error, "the backend allows no control stream");
    return;
  }
  quic_->set_precedence(control_, {.level = quic::Precedence::kCritical});
  uint8_t opening[1 + kMaxSettingsFrame] = {static_cast<uint8_t>(stream_type::kControl)};
  uint64_t grease = 0;
  RAND_bytes(reinterpret_cast<uint8_t*>(&grease), sizeof grease);
  const size_t size = store_settings(
      opening + 1, {.max_field_section_size = limits_->max_response_head, .grease = grease});
  quic_->write_copy(control_, {opening, 1 + size});
}

// ---- http::ClientConnection ---------------------------------------------------------------------

bool ClientConnection::available() const {
  return !closing() && !going_away_ && !doubtful_ && active_ < options_.max_streams &&
         quic_->streams_left() > 0;
}

http::ClientStream& ClientConnection::open_stream(http::ClientStreamHandler& handler) {
  auto* stream = new ClientStream(*this, handler, opened_);
  requests_.push_back(*stream);
  ++active_;
  if (quic_->open_bidirectional(*stream)) {
    ++opened_;
  } else {
    stream->fail_unopened();
  }
  was_full_ = !available();
  set_keep_alive();
  return *stream;
}

void ClientConnection::close() {
  going_away_ = true;
  finish_if_unused();
}

void ClientConnection::finish_if_unused() {
  if (going_away_ && active_ == 0 && !closing()) quic_->close(kNoError, {});
}

// ---- signs of life ------------------------------------------------------------------------------

void ClientConnection::set_keep_alive() {
  const bool wanted = active_ > 0;
  if (closing() || doubtful_ || wanted == kept_alive_) return;
  kept_alive_ = wanted;
  quic_->keep_alive(wanted ? kKeepAlive : kNever);
}

void ClientConnection::probe() {
  if (closing() || doubtful_) return;
  doubtful_ = was_full_ = true;
  packets_at_probe_ = quic_->packets_received();
  quic_->keep_alive(kMillisecond);
  probe_timer_.arm(loop_, options_.probe_timeout);
}

void ClientConnection::on_life() {
  if (!doubtful_ || quic_->packets_received() == packets_at_probe_) return;
  doubtful_ = false;
  probe_timer_.disarm();
  kept_alive_ = !(active_ > 0);  // what is set now is the probe's
  set_keep_alive();
}

void ClientConnection::on_probe_timeout() {
  if (closing()) return;
  kSilent.add();
  quic_->close(kNoError, "the backend gives no sign of life");
}

// ---- for the streams ----------------------------------------------------------------------------

bool ClientConnection::fail(ErrorCode code, const char* reason) {
  if (!closing()) {
    kBackendErrors.add();
    quic_->close(static_cast<uint64_t>(code), reason);
  }
  return false;
}

bool ClientConnection::charge(Nuisance kind, uint64_t times) {
  if (budget_.charge(kind, loop_.now(), times)) return true;
  return fail(ErrorCode::excessive_load, "the connection's budget is spent");
}

void ClientConnection::note_bad_answer() { kBadAnswers.add(); }

void ClientConnection::ready(ClientStream& stream) {
  if (!static_cast<ListNode<ClientReadyTag>&>(stream).linked()) ready_.push_back(stream);
}

void ClientConnection::stream_gone(ClientStream& stream) {
  --active_;
  delete &stream;
  if (closing()) return;
  set_keep_alive();
  quic_->wake();
}

void ClientConnection::deliver_ready() {
  IntrusiveList<ClientStream, ClientReadyTag> batch;
  batch.splice_back(ready_);
  while (!batch.empty()) batch.pop_front().deliver();
}

// ---- quic::ConnectionHandler --------------------------------------------------------------------

quic::Stream* ClientConnection::make_stream(int64_t id, uint64_t&) {
  if (quic::is_bidirectional(id)) {  // RFC 9114 6.1
    fail(ErrorCode::stream_creation_error, "a server opened a bidirectional stream");
    return nullptr;
  }
  auto* stream = new PeerStream(*this);
  peer_streams_.push_back(*stream);
  return stream;
}

void ClientConnection::on_received() {
  on_life();
  deliver_ready();
}

void ClientConnection::before_send() {
  while (!ready_.empty() && !closing()) deliver_ready();
  if (was_full_ && available()) {
    was_full_ = false;
    owner_.on_available();
  }
  finish_if_unused();
}

void ClientConnection::on_connection_closed(std::string_view reason) {
  end_reason_ = reason;
  probe_timer_.disarm();
  const std::string_view why = reason.empty() ? "the connection was closed" : reason;
  // What a handler does may cancel others, none of which is destroyed by it now.
  requests_.for_each([&](ClientStream& s) { s.connection_lost(why); });
  destroy_streams();
  quic_ = nullptr;
  loop_.defer(closed_work_);
}

// ---- StreamOwner --------------------------------------------------------------------------------

bool ClientConnection::on_push_stream() {
  return fail(ErrorCode::id_error, "a push that was not allowed");
}

bool ClientConnection::on_settings(const PeerSettings&) { return true; }

// RFC 9114 5.2.
bool ClientConnection::on_goaway(uint64_t id) {
  const auto stream = static_cast<int64_t>(id);
  if (!quic::is_bidirectional(stream) || !quic::is_client_initiated(stream)) {
    return fail(ErrorCode::id_error, "GOAWAY of no request stream");
  }
  if (id > goaway_) return fail(ErrorCode::id_error, "GOAWAY with a larger identifier");
  if (!charge(Nuisance::control_frame)) return false;
  kGoaways.add();
  goaway_ = id;
  going_away_ = true;
  uint64_t refused = 0;
  requests_.for_each([&](ClientStream& s) {
    if (s.id() < stream || !s.awaits_answer()) return;
    ++refused;
    s.refuse_unprocessed("the backend takes no more requests on the connection (GOAWAY)");
  });
  kRefused.add(refused);
  owner_.on_going_away(std::min(opened_, id / 4), refused);
  return true;
}

bool ClientConnection::on_max_push_id(uint64_t) {
  return fail(ErrorCode::frame_unexpected, "MAX_PUSH_ID from a server");
}

bool ClientConnection::on_priority_update(uint64_t, std::string_view) {
  return fail(ErrorCode::frame_unexpected, "PRIORITY_UPDATE from a server");
}

bool ClientConnection::on_encoder_stream(Bytes bytes) {
  if (!charge(Nuisance::qpack_instructions, bytes.size() / kBackendInstructionsCharged + 1))
    return false;
  auto read = decoder_.read_encoder_stream(bytes);
  return read ? true : fail(read.error());
}

bool ClientConnection::on_decoder_stream(Bytes bytes) {
  if (!charge(Nuisance::qpack_instructions, bytes.size() / kBackendInstructionsCharged + 1))
    return false;
  auto read = encoder_.read_decoder_stream(bytes);
  return read ? true : fail(read.error());
}

void ClientConnection::peer_stream_closed(PeerStream& stream) {
  delete &stream;
  if (!closing()) quic_->allow_stream();
}

}  // namespace pqedge::http3
