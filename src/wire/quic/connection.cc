#include "wire/quic/connection.h"

#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "crypto/early_data.h"
#include "wire/quic/callbacks.h"
#include "wire/quic/counters.h"
#include "wire/quic/endpoint.h"
#include "wire/quic/memory.h"
#include "wire/quic/path.h"

namespace pqedge::quic {
namespace {

// A client of ours has at most so many IDs of its own in our memory.
constexpr uint64_t kActiveConnectionIds = 8;
constexpr Nanos kMaxAckDelay = 25 * kMillisecond;

ngtcp2_cc_algo congestion_control(const std::string& name) {
  if (name == "bbr") return NGTCP2_CC_ALGO_BBR;
  if (name == "reno") return NGTCP2_CC_ALGO_RENO;
  return NGTCP2_CC_ALGO_CUBIC;
}

}  // namespace

Connection::Connection(Endpoint& endpoint) : endpoint_(endpoint) {
  timer_.set([](void* self) { static_cast<Connection*>(self)->on_timer(); }, this);
  ngtcp2_ccerr_default(&close_error_);
}

Connection::~Connection() {
  release();
  if (state_ == State::closing || state_ == State::draining) --endpoint_.ended_;
  for (const ngtcp2_cid& id : ids_) endpoint_.ids_.erase({id.data, id.datalen}, this);
  counters::connections_open.subtract();
}

Result<std::unique_ptr<Connection>> Connection::accept(Endpoint& endpoint, const Initial& initial) {
  std::unique_ptr<Connection> connection(new Connection(endpoint));
  counters::connections_open.add();
  ++endpoint.half_open_;
  counters::handshakes_open.add();
  if (auto started = connection->start(initial); !started) {
    connection->leave_handshake();
    return std::unexpected(started.error());
  }
  return connection;
}

Result<void> Connection::start(const Initial& initial) {
  contexts_ = endpoint_.options_.contexts;
  address_validated_ = initial.address_validated;
  stream_limit_ = max_streams_ = endpoint_.options_.max_streams;
  facts_.id = endpoint_.next_connection_id();
  facts_.peer = initial.datagram.peer;
  facts_.local = initial.datagram.local;
  facts_.transport = net::Transport::quic;
  facts_.accepted_at = loop().now();
  session_.facts = &facts_;
  session_.alpn = &endpoint_.options_.alpn;
  if (auto started = tls_.start(loop(), contexts_, session_, &conn_, *this); !started)
    return started;

  const ConnectionId id = endpoint_.options_.keys->make_id(endpoint_.options_.self, kServerId);
  ngtcp2_cid own;
  ngtcp2_cid_init(&own, id.data(), id.size());
  ngtcp2_settings settings;
  fill_settings(initial, settings);
  begin_qlog(initial, settings);
  ngtcp2_transport_params parameters;
  fill_parameters(initial, id, parameters);
  ngtcp2_path path = path_of(initial.datagram.local, initial.datagram.peer);
  const int status = ngtcp2_conn_server_new(
      &conn_, &initial.header.scid, &own, &path, initial.header.version, &Callbacks::table(),
      &settings, &parameters, library_memory(), static_cast<Streams*>(this));
  if (status != 0) return fail("cannot make a QUIC connection: {}", ngtcp2_strerror(status));
  ngtcp2_conn_set_tls_native_handle(conn_, tls_.native_handle());
  digest_parameters();
  // The client's first choice too: its Initials carry that until it has seen ours.
  if (!register_id(own) || !register_id(initial.header.dcid)) {
    return fail("a new QUIC connection's ID is in use");
  }
  counters::connections_accepted.add();
  return {};
}

void Connection::fill_settings(const Initial& initial, ngtcp2_settings& settings) const {
  const Settings& ours = endpoint_.options_.settings;
  ngtcp2_settings_default(&settings);
  settings.initial_ts = loop().now();
  fill_path_probes(settings);
  settings.cc_algo = congestion_control(ours.congestion_control);
  settings.handshake_timeout = ours.handshake_timeout;
  settings.max_stream_window = ours.stream_window_max;
  settings.max_window = ours.connection_window_max;
  if (initial.address_validated) {
    settings.token = initial.header.token;
    settings.tokenlen = initial.header.tokenlen;
    settings.token_type =
        initial.original_id ? NGTCP2_TOKEN_TYPE_RETRY : NGTCP2_TOKEN_TYPE_NEW_TOKEN;
  }
}

void Connection::begin_qlog(const Initial& initial, ngtcp2_settings& settings) {
  const Settings& ours = endpoint_.options_.settings;
  if (ours.qlog_directory.empty() || facts_.peer.ip() != ours.qlog_client) return;
  const ngtcp2_cid& id = initial.original_id.value_or(initial.header.dcid);
  qlog_ = Qlog::open(ours.qlog_directory, {id.data, id.datalen});
  if (qlog_ == nullptr) return;
  settings.qlog_write = [](void* self, uint32_t, const void* data, size_t size) {
    static_cast<Connection*>(self)->qlog_->write({static_cast<const uint8_t*>(data), size});
  };
}

void Connection::fill_parameters(const Initial& initial, const ConnectionId& id,
                                 ngtcp2_transport_params& parameters) const {
  const Settings& ours = endpoint_.options_.settings;
  ngtcp2_transport_params_default(&parameters);
  parameters.original_dcid = initial.original_id.value_or(initial.header.dcid);
  parameters.original_dcid_present = 1;
  if (initial.original_id) {
    parameters.retry_scid = initial.header.dcid;
    parameters.retry_scid_present = 1;
  }
  parameters.initial_max_stream_data_bidi_remote = ours.stream_window;
  parameters.initial_max_stream_data_uni = ours.stream_window;
  parameters.initial_max_data = ours.connection_window;
  parameters.initial_max_streams_bidi = max_streams_;
  parameters.initial_max_streams_uni = endpoint_.options_.max_unidirectional_streams;
  parameters.max_idle_timeout = ours.idle_timeout;
  parameters.max_ack_delay = kMaxAckDelay;
  parameters.active_connection_id_limit = kActiveConnectionIds;
  parameters.disable_active_migration = ours.active_migration ? 0 : 1;
  parameters.grease_quic_bit = 1;
  const auto token = endpoint_.options_.keys->reset_token(id);
  std::memcpy(parameters.stateless_reset_token, token.data(), token.size());
  parameters.stateless_reset_token_present = 1;
}

// What a client remembers of us with its ticket, and counts on in its early data (RFC 9000 7.4.1):
// where anything of it has changed, early data is not taken.
void Connection::digest_parameters() {
  std::array<uint8_t, 512> bytes;
  store_be64(bytes.data(), endpoint_.options_.application_limits);
  const ngtcp2_ssize size =
      ngtcp2_conn_encode_0rtt_transport_params(conn_, bytes.data() + 8, bytes.size() - 8);
  if (size < 0) return;
  std::array<uint8_t, SHA256_DIGEST_LENGTH> digest;
  SHA256(bytes.data(), 8 + static_cast<size_t>(size), digest.data());
  std::copy_n(digest.begin(), session_.endpoint_digest.size(), session_.endpoint_digest.begin());
}

net::Loop& Connection::loop() const { return endpoint_.loop_; }

CopyBuffer& Connection::copies() { return endpoint_.copies_; }

bool Connection::register_id(const ngtcp2_cid& id) {
  if (!endpoint_.ids_.insert({id.data, id.datalen}, this)) return false;
  ids_.push_back(id);
  return true;
}

void Connection::unregister_id(const ngtcp2_cid& id) {
  endpoint_.ids_.erase({id.data, id.datalen}, this);
  std::erase_if(ids_, [&](const ngtcp2_cid& known) { return ngtcp2_cid_eq(&known, &id) != 0; });
}

// ---- what comes ---------------------------------------------------------------------------------

void Connection::receive(const ReceivedDatagram& datagram) {
  if (state_ >= State::closing) {
    answer_while_closing();
    return;
  }
  if (ending_ != Ending::none) return;
  ngtcp2_path path = path_of(datagram.local, datagram.peer);
  const ngtcp2_pkt_info info{.ecn = datagram.ecn};
  reading_ = true;
  const int status = ngtcp2_conn_read_pkt(conn_, &path, &info, datagram.bytes.data(),
                                          datagram.bytes.size(), loop().now());
  reading_ = false;
  if (unanswered_ < UINT8_MAX) ++unanswered_;
  if (status != 0) read_failed(status);
}

void Connection::read_failed(int error) {
  ngtcp2_ccerr close;
  switch (error) {
    case NGTCP2_ERR_DRAINING:
      if (state_ == State::handshake) note_client_close();
      request_end(Ending::drain, {});
      return;
    case NGTCP2_ERR_CLOSING: return;
    case NGTCP2_ERR_RETRY:  // it has data, but not those at offset 0, and no token
      lacks_start_ = true;
      [[fallthrough]];
    case NGTCP2_ERR_DROP_CONN:
      request_end(Ending::drop, "the QUIC handshake could not go on");
      return;
    case NGTCP2_ERR_CRYPTO:
      log_failure(crypto::handshake_failure(session_, false));
      ngtcp2_ccerr_set_tls_alert(&close, ngtcp2_conn_get_tls_alert(conn_), nullptr, 0);
      request_close(close, "the TLS handshake failed");
      return;
    default:
      ngtcp2_ccerr_set_liberr(&close, error, nullptr, 0);
      request_close(close, ngtcp2_strerror(error));
      return;
  }
}

// The client ended its handshake by CONNECTION_CLOSE: with an alert (RFC 9001 4.8), or without.
void Connection::note_client_close() const {
  constexpr uint64_t kCryptoError = 0x100;
  const uint64_t code = ngtcp2_conn_get_ccerr(conn_)->error_code;
  const bool alert = code >= kCryptoError && code < 2 * kCryptoError;
  crypto::note_handshake_end(alert ? crypto::HandshakeEnd::client_alert
                                   : crypto::HandshakeEnd::client_closed);
}

void Connection::log_failure(const Error& error) const {
  if (!log::enabled(log::Level::debug)) return;
  std::string text;
  append_text_escaped(text, error.message);
  log::debug("quic", "{}: handshake failed: {}", facts_.peer.ip(), text);
}

// ACKs are not worth a datagram of their own while an answer may be about to leave (P7): with
// requests under way and little unacknowledged, they wait for it, far less than max_ack_delay.
void Connection::after_receive() {
  if (handler_ != nullptr && !closing()) {
    if (std::exchange(confirm_owed_, false)) {
      handler_->on_handshake_confirmed();
      endpoint_.handler_.on_handshake_confirmed();
    }
    handler_->on_received();
  }
  if (state_ >= State::closing) return;
  constexpr uint8_t kAckAtOnce = 8;
  constexpr Nanos kAckWait = kMillisecond;
  if (state_ == State::established && !closing() && nothing_to_send() && unanswered_ < kAckAtOnce &&
      !ListNode<DirtyTag>::linked()) {
    const Nanos when = loop().now() + kAckWait;
    if (!timer_.armed() || timer_.deadline() > when) timer_.arm_at(loop(), when);
    return;
  }
  wake();
}

// ---- the handshake ------------------------------------------------------------------------------

// It had paused: for a certificate, or for a slow signature.
void Connection::handshake_went_on(int status) {
  if (closing()) return;
  if (status != 0) read_failed(status);
  wake();
}

void Connection::handshake_completed() {
  leave_handshake();
  state_ = State::established;
  ngtcp2_conn_info info;
  ngtcp2_conn_get_conn_info(conn_, &info);
  facts_.handshake_time = monotonic_now() - facts_.accepted_at;
  facts_.handshake_in = info.bytes_recv;
  facts_.handshake_out = info.bytes_sent;
  facts_.handshake_pending = false;
  crypto::read_facts(tls_.ssl(), facts_);
  crypto::note_early_data(tls_.ssl(), session_, facts_);
  crypto::note_handshake(tls_.ssl(), facts_);
  send_new_token();
  if (handler_ != nullptr) {
    confirm_owed_ = true;
  } else if (!closing()) {
    begin_application();
  }
}

void Connection::begin_application() {
  handler_ = endpoint_.handler_.on_connection(*this);
  if (handler_ == nullptr) {
    ngtcp2_ccerr refused;
    ngtcp2_ccerr_set_transport_error(&refused, NGTCP2_CONNECTION_REFUSED, nullptr, 0);
    request_close(refused, "the connection was refused");
  }
}

void Connection::leave_handshake() {
  --endpoint_.half_open_;
  counters::handshakes_open.subtract();
}

// RFC 9000 8.1.3: the client may skip address validation with it next time.
void Connection::send_new_token() {
  const Bytes secret = endpoint_.options_.keys->token_secret();
  uint8_t token[NGTCP2_CRYPTO_MAX_REGULAR_TOKENLEN];
  const ngtcp2_path* path = ngtcp2_conn_get_path(conn_);
  const ngtcp2_ssize size = ngtcp2_crypto_generate_regular_token(
      token, secret.data(), secret.size(), path->remote.addr, path->remote.addrlen, wall_now());
  if (size > 0) ngtcp2_conn_submit_new_token(conn_, token, static_cast<size_t>(size));
}

// ---- streams ------------------------------------------------------------------------------------

Stream* Connection::stream_opened(int64_t id) {
  // Before the handshake is complete a stream can only be of early data.
  if (handler_ == nullptr && state_ == State::handshake && !closing()) {
    facts_.handshake_pending = true;
    crypto::read_facts(tls_.ssl(), facts_);
    begin_application();
  }
  if (is_bidirectional(id)) {
    opened_streams_ = std::max(opened_streams_, static_cast<uint64_t>(id) / 4 + 1);
  }
  uint64_t code = 0;
  Stream* stream = handler_ == nullptr ? nullptr : handler_->make_stream(id, code);
  if (stream == nullptr) {
    ngtcp2_conn_shutdown_stream(conn_, 0, id, code);
    return nullptr;
  }
  adopt(*stream, id);
  return stream;
}

// MAX_STREAMS makes a packet that the peer has to acknowledge: it is sent for many ended streams at
// once, as long as the peer can open as many as it had left at first.
void Connection::allow_stream(bool bidirectional) {
  if (closing()) return;
  if (!bidirectional) {
    ngtcp2_conn_extend_max_streams_uni(conn_, 1);
    return;
  }
  ++ended_streams_;
  const uint64_t left = max_streams_ - std::min(max_streams_, opened_streams_);
  if (left > stream_limit_ / 2) return;
  max_streams_ += ended_streams_;
  ngtcp2_conn_extend_max_streams_bidi(conn_, static_cast<size_t>(std::exchange(ended_streams_, 0)));
  wake();
}

// ---- ending -------------------------------------------------------------------------------------

void Connection::close(uint64_t code, std::string_view reason, bool written_out) {
  if (closing()) return;
  write_before_close_ = written_out;
  ngtcp2_ccerr error;
  ngtcp2_ccerr_set_application_error(&error, code, reinterpret_cast<const uint8_t*>(reason.data()),
                                     reason.size());
  request_close(error, reason);
}

void Connection::request_close(const ngtcp2_ccerr& error, std::string_view reason) {
  if (closing()) return;
  close_error_ = error;
  request_end(Ending::close, reason);
}

void Connection::request_end(Ending how, std::string_view reason) {
  if (closing()) return;
  ending_ = how;
  close_reason_ = reason;
  wake();
}

// Frees all that a connection needs while it runs, tells the application, and leaves what RFC 9000
// 10.2 asks for: to recognise late packets for three probe timeouts.
void Connection::end_now() {
  if (state_ == State::handshake) {
    counters::handshakes_failed.add();
    leave_handshake();
  }
  const Nanos wait = 3 * ngtcp2_conn_get_pto(conn_);
  if (ending_ == Ending::close) send_close();
  state_ = ending_ == Ending::drain ? State::draining
           : close_packet_.empty()  ? State::finished
                                    : State::closing;
  release();
  if (state_ == State::finished) {
    timer_.disarm();
  } else {
    ++endpoint_.ended_;
    timer_.arm(loop(), wait);
  }
  if (ConnectionHandler* handler = std::exchange(handler_, nullptr); handler != nullptr) {
    handler->on_connection_closed(close_reason_);
  }
}

void Connection::release() {
  forget_progress();
  tls_.reset();
  if (conn_ != nullptr) ngtcp2_conn_del(std::exchange(conn_, nullptr));
}

void Connection::abandon() {
  if (state_ >= State::closing) return;
  ending_ = Ending::drop;
  close_reason_ = "the listener is gone";
  end_now();
}

Nanos Connection::probe_timeout() const {
  return conn_ == nullptr ? 0 : ngtcp2_conn_get_pto(conn_);
}

uint64_t Connection::pings_received() const {
  if (conn_ == nullptr) return 0;
  ngtcp2_conn_info info;
  ngtcp2_conn_get_conn_info(conn_, &info);
  return info.ping_recv;
}

}  // namespace pqedge::quic
