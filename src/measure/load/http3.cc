#include "measure/load/http3.h"

#include <openssl/rand.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>

#include "base/bytes.h"
#include "base/text.h"

namespace pqedge::measure::load {

namespace {

constexpr uint64_t kStreamWindow = 8 * 1024 * 1024;
constexpr uint64_t kConnectionWindow = 64 * 1024 * 1024;
constexpr size_t kGsoRoom = 64 * 1024 - 1;  // the kernel takes at most 64 KiB and 64 datagrams
constexpr size_t kGsoDatagrams = 64;
constexpr size_t kConnectionIdLength = 8;
constexpr size_t kQpackTable = 4096;

}  // namespace

struct QuicCallbacks {
  static Http3Connection& self(void* user) { return *static_cast<Http3Connection*>(user); }

  static ngtcp2_conn* connection(ngtcp2_crypto_conn_ref* reference) {
    return self(reference->user_data).quic_.get();
  }

  static void random(uint8_t* to, size_t size, const ngtcp2_rand_ctx*) {
    RAND_bytes(to, static_cast<int>(size));
  }

  static int new_connection_id(ngtcp2_conn*, ngtcp2_cid* id, ngtcp2_stateless_reset_token* token,
                               size_t length, void*) {
    RAND_bytes(id->data, static_cast<int>(length));
    id->datalen = length;
    RAND_bytes(token->data, sizeof(token->data));
    return 0;
  }

  static int handshake_completed(ngtcp2_conn*, void* user) {
    self(user).handshake_done_ = true;
    return 0;
  }

  // The server's first HTTP bytes may come in the very datagram that ends the handshake: the layer
  // that reads them has to be there as soon as they can be decrypted.
  static int rx_key(ngtcp2_conn*, ngtcp2_encryption_level level, void* user) {
    if (level != NGTCP2_ENCRYPTION_LEVEL_1RTT) return 0;
    return self(user).begin_http() ? 0 : NGTCP2_ERR_CALLBACK_FAILURE;
  }

  static int stream_data(ngtcp2_conn* quic, uint32_t flags, int64_t stream, uint64_t,
                         const uint8_t* data, size_t size, void* user, void*) {
    Http3Connection& c = self(user);
    c.saw_stream_data_ = true;
    const bool end = (flags & NGTCP2_STREAM_DATA_FLAG_FIN) != 0;
    const auto taken = nghttp3_conn_read_stream2(c.http_.get(), stream, data, size, end, c.now_);
    if (taken < 0) return NGTCP2_ERR_CALLBACK_FAILURE;
    ngtcp2_conn_extend_max_stream_offset(quic, stream, static_cast<uint64_t>(taken));
    ngtcp2_conn_extend_max_offset(quic, static_cast<uint64_t>(taken));
    return 0;
  }

  static int acked(ngtcp2_conn*, int64_t stream, uint64_t, uint64_t size, void* user, void*) {
    const int error = nghttp3_conn_add_ack_offset(self(user).http_.get(), stream, size);
    return error == 0 ? 0 : NGTCP2_ERR_CALLBACK_FAILURE;
  }

  static int stream_close(ngtcp2_conn*, uint32_t flags, int64_t stream, uint64_t code, void* user,
                          void*) {
    nghttp3_conn* http = self(user).http_.get();
    if (http == nullptr) return 0;
    if ((flags & NGTCP2_STREAM_CLOSE_FLAG_APP_ERROR_CODE_SET) == 0) code = NGHTTP3_H3_NO_ERROR;
    const int error = nghttp3_conn_close_stream(http, stream, code);
    return error == 0 || error == NGHTTP3_ERR_STREAM_NOT_FOUND ? 0 : NGTCP2_ERR_CALLBACK_FAILURE;
  }

  // The peer reset the answer, or wants no more of the request.
  static int reading_ended(ngtcp2_conn*, int64_t stream, uint64_t, uint64_t, void* user, void*) {
    nghttp3_conn_shutdown_stream_read(self(user).http_.get(), stream);
    return 0;
  }

  static int stop_sending(ngtcp2_conn*, int64_t stream, uint64_t, void* user, void*) {
    nghttp3_conn_shutdown_stream_write(self(user).http_.get(), stream);
    return 0;
  }

  static int more_stream_credit(ngtcp2_conn*, int64_t stream, uint64_t, void* user, void*) {
    nghttp3_conn_unblock_stream(self(user).http_.get(), stream);
    return 0;
  }

  static ngtcp2_ssize write_packet(ngtcp2_conn*, ngtcp2_path* path, ngtcp2_pkt_info* info,
                                   uint8_t* to, size_t size, ngtcp2_tstamp now, void* user) {
    return self(user).write_packet(path, info, to, size, now);
  }

  static const ngtcp2_callbacks& all() {
    static const ngtcp2_callbacks made = [] {
      ngtcp2_callbacks c{};
      c.client_initial = ngtcp2_crypto_client_initial_cb;
      c.recv_crypto_data = ngtcp2_crypto_recv_crypto_data_cb;
      c.encrypt = ngtcp2_crypto_encrypt_cb;
      c.decrypt = ngtcp2_crypto_decrypt_cb;
      c.hp_mask = ngtcp2_crypto_hp_mask_cb;
      c.recv_retry = ngtcp2_crypto_recv_retry_cb;
      c.update_key = ngtcp2_crypto_update_key_cb;
      c.delete_crypto_aead_ctx = ngtcp2_crypto_delete_crypto_aead_ctx_cb;
      c.delete_crypto_cipher_ctx = ngtcp2_crypto_delete_crypto_cipher_ctx_cb;
      c.get_path_challenge_data2 = ngtcp2_crypto_get_path_challenge_data2_cb;
      c.version_negotiation = ngtcp2_crypto_version_negotiation_cb;
      c.rand = random;
      c.get_new_connection_id2 = new_connection_id;
      c.handshake_completed = handshake_completed;
      c.recv_rx_key = rx_key;
      c.recv_stream_data = stream_data;
      c.acked_stream_data_offset = acked;
      c.stream_close = stream_close;
      c.stream_reset = reading_ended;
      c.stream_stop_sending = stop_sending;
      c.extend_max_stream_data = more_stream_credit;
      return c;
    }();
    return made;
  }
};

struct Http3Callbacks {
  static Http3Connection& self(void* user) { return *static_cast<Http3Connection*>(user); }
  static void give_credit(void* user, int64_t stream, uint64_t size) {
    ngtcp2_conn* quic = self(user).quic_.get();
    ngtcp2_conn_extend_max_stream_offset(quic, stream, size);
    ngtcp2_conn_extend_max_offset(quic, size);
  }

  static int data(nghttp3_conn*, int64_t stream, const uint8_t* bytes, size_t size, void* user,
                  void* exchange) {
    if (exchange != nullptr) {
      self(user).context_.plan.take_body(*static_cast<Exchange*>(exchange), {bytes, size});
    }
    give_credit(user, stream, size);
    return 0;
  }

  static int deferred_consume(nghttp3_conn*, int64_t stream, size_t size, void* user, void*) {
    give_credit(user, stream, size);
    return 0;
  }

  static int header(nghttp3_conn*, int64_t, int32_t token, nghttp3_rcbuf*, nghttp3_rcbuf* value,
                    uint8_t, void*, void* exchange) {
    if (token != NGHTTP3_QPACK_TOKEN__STATUS || exchange == nullptr) return 0;
    const nghttp3_vec text = nghttp3_rcbuf_get_buf(value);
    const auto status = parse_decimal(as_text({text.base, text.len}));
    static_cast<Exchange*>(exchange)->status = static_cast<int>(status.value_or(0));
    return 0;
  }

  static int end_stream(nghttp3_conn* http, int64_t stream, void* user, void* exchange) {
    if (exchange == nullptr) return 0;
    Http3Connection& c = self(user);
    Exchange& e = *static_cast<Exchange*>(exchange);
    nghttp3_conn_set_stream_user_data(http, stream, nullptr);
    // Answered before the upload was through: the rest of it is not wanted (RFC 9114 4.1).
    if (e.uploaded < c.context_.plan.upload_size()) {
      nghttp3_conn_shutdown_stream_write(http, stream);
      ngtcp2_conn_shutdown_stream_write(c.quic_.get(), 0, stream, NGHTTP3_H3_REQUEST_CANCELLED);
    }
    c.finish(e, c.now_);
    return 0;
  }

  // Reached with an exchange only when the answer did not end: else end_stream took it.
  static int stream_close(nghttp3_conn*, int64_t, uint64_t code, void* user, void* exchange) {
    if (exchange == nullptr) return 0;
    Exchange& e = *static_cast<Exchange*>(exchange);
    if (code == NGHTTP3_H3_REQUEST_REJECTED) {
      self(user).send_again(e);
    } else {
      self(user).fail_exchange(e, Failure::kReset, std::format("HTTP/3 error {:#x}", code));
    }
    return 0;
  }

  static int stop_sending(nghttp3_conn*, int64_t stream, uint64_t code, void* user, void*) {
    ngtcp2_conn_shutdown_stream_read(self(user).quic_.get(), 0, stream, code);
    return 0;
  }

  static int reset_stream(nghttp3_conn*, int64_t stream, uint64_t code, void* user, void*) {
    ngtcp2_conn_shutdown_stream_write(self(user).quic_.get(), 0, stream, code);
    return 0;
  }

  // GOAWAY: requests from `id` on were not and will not be processed (RFC 9114 5.2).
  static int goaway(nghttp3_conn* http, int64_t id, void* user) {
    Http3Connection& c = self(user);
    c.leave();
    for (Exchange& e : c.exchanges_) {
      if (!e.active || e.stream < id) continue;
      nghttp3_conn_set_stream_user_data(http, e.stream, nullptr);
      c.send_again(e);
    }
    return 0;
  }

  static nghttp3_ssize read_upload(nghttp3_conn*, int64_t, nghttp3_vec* vector, size_t,
                                   uint32_t* flags, void* user, void* exchange) {
    const RequestPlan& plan = self(user).context_.plan;
    if (exchange == nullptr) {
      *flags |= NGHTTP3_DATA_FLAG_EOF;
      return 0;
    }
    Exchange& e = *static_cast<Exchange*>(exchange);
    // Points into the plan, which outlives every acknowledgement.
    const auto bytes = plan.upload_bytes(e.uploaded, std::numeric_limits<size_t>::max());
    vector[0] = {const_cast<uint8_t*>(bytes.data()), bytes.size()};
    e.uploaded += bytes.size();
    if (e.uploaded == plan.upload_size()) *flags |= NGHTTP3_DATA_FLAG_EOF;
    return 1;
  }

  static void random(uint8_t* to, size_t size) { RAND_bytes(to, static_cast<int>(size)); }

  static const nghttp3_callbacks& all() {
    static const nghttp3_callbacks made = [] {
      nghttp3_callbacks c{};
      c.recv_data = data;
      c.deferred_consume = deferred_consume;
      c.recv_header = header;
      c.end_stream = end_stream;
      c.stream_close = stream_close;
      c.stop_sending = stop_sending;
      c.reset_stream = reset_stream;
      c.shutdown = goaway;
      c.rand = random;
      return c;
    }();
    return made;
  }
};

Http3Connection::Http3Connection(Context& context)
    : Connection(context, context.options.streams), socket_(context) {
  for (const auto& [name, value] : context.plan.fields()) {
    fields_.push_back({as_bytes(name).data(), as_bytes(value).data(), name.size(), value.size(),
                       NGHTTP3_NV_FLAG_NO_COPY_NAME | NGHTTP3_NV_FLAG_NO_COPY_VALUE});
  }
}

Http3Connection::~Http3Connection() {
  // The library's hooks on the SSL object look at its application data: none must be left.
  if (!ssl_) return;
  SSL_set_app_data(ssl_.get(), nullptr);
  // QUIC has no close_notify; without one OpenSSL would take the session, and with it the latest
  // ticket, for broken.
  SSL_set_shutdown(ssl_.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
}

Result<void> Http3Connection::open(Nanos now) {
  opened_ = now;
  now_ = now;
  if (auto connected = socket_.connect(context_.tally.handshakes()); !connected) return connected;
  ssl_ = context_.tls->new_connection();
  if (!ssl_) return fail("TLS: {}", openssl_error());
  ngtcp2_crypto_ossl_ctx* crypto = nullptr;
  if (ngtcp2_crypto_ossl_ctx_new(&crypto, ssl_.get()) != 0) return fail("ngtcp2: out of memory");
  crypto_.reset(crypto);
  if (ngtcp2_crypto_ossl_configure_client_session(ssl_.get()) != 0) {
    return fail("TLS for QUIC: {}", openssl_error());
  }
  reference_ = {&QuicCallbacks::connection, this};
  SSL_set_app_data(ssl_.get(), &reference_);
  if (auto opened = open_quic(now); !opened) return opened;
  ngtcp2_conn_set_tls_native_handle(quic_.get(), crypto);
  return {};
}

Result<void> Http3Connection::open_quic(Nanos now) {
  ngtcp2_settings settings;
  ngtcp2_settings_default(&settings);
  settings.initial_ts = now;
  settings.handshake_timeout = context_.options.timeout;
  settings.max_tx_udp_payload_size = context_.options.udp_payload;
  // The size is given, not searched for: probes would be datagrams that no request needs.
  settings.no_tx_udp_payload_size_shaping = 1;
  settings.no_pmtud = 1;

  ngtcp2_transport_params params;
  ngtcp2_transport_params_default(&params);
  params.initial_max_stream_data_bidi_local = kStreamWindow;
  params.initial_max_stream_data_uni = kStreamWindow;
  params.initial_max_data = kConnectionWindow;
  params.initial_max_streams_uni = 16;
  params.max_idle_timeout = 60 * kSecond;
  params.max_udp_payload_size = context_.options.udp_payload;
  params.active_connection_id_limit = 4;

  ngtcp2_cid server_id{};
  ngtcp2_cid own_id{};
  server_id.datalen = NGTCP2_MIN_INITIAL_DCIDLEN;
  own_id.datalen = kConnectionIdLength;
  RAND_bytes(server_id.data, static_cast<int>(server_id.datalen));
  RAND_bytes(own_id.data, static_cast<int>(own_id.datalen));

  ngtcp2_path path{};
  path.local = {const_cast<sockaddr*>(socket_.local().data()), socket_.local().size()};
  path.remote = {const_cast<sockaddr*>(context_.server.data()), context_.server.size()};
  ngtcp2_conn* quic = nullptr;
  const int error =
      ngtcp2_conn_client_new(&quic, &server_id, &own_id, &path, NGTCP2_PROTO_VER_V1,
                             &QuicCallbacks::all(), &settings, &params, nullptr, this);
  if (error != 0) return fail("QUIC: {}", ngtcp2_strerror(error));
  quic_.reset(quic);
  deadline_ = now;  // the first flight goes out with the next turn
  return {};
}

bool Http3Connection::begin_http() {
  nghttp3_settings settings;
  nghttp3_settings_default(&settings);
  settings.qpack_max_dtable_capacity = kQpackTable;
  settings.qpack_blocked_streams = 100;
  nghttp3_conn* http = nullptr;
  if (nghttp3_conn_client_new(&http, &Http3Callbacks::all(), &settings, nullptr, this) != 0) {
    return false;
  }
  http_.reset(http);
  int64_t control = -1;
  int64_t encoder = -1;
  int64_t decoder = -1;
  ngtcp2_conn* quic = quic_.get();
  return ngtcp2_conn_open_uni_stream(quic, &control, nullptr) == 0 &&
         ngtcp2_conn_open_uni_stream(quic, &encoder, nullptr) == 0 &&
         ngtcp2_conn_open_uni_stream(quic, &decoder, nullptr) == 0 &&
         nghttp3_conn_bind_control_stream(http, control) == 0 &&
         nghttp3_conn_bind_qpack_streams(http, encoder, decoder) == 0;
}

void Http3Connection::lost_quic(int error) {
  const Failure failure = state_ != State::kConnecting            ? Failure::kClosed
                          : error == NGTCP2_ERR_HANDSHAKE_TIMEOUT ? Failure::kConnect
                                                                  : Failure::kHandshake;
  if (error == NGTCP2_ERR_DRAINING) {
    const ngtcp2_ccerr* reason = ngtcp2_conn_get_ccerr(quic_.get());
    return lost(failure, std::format("closed by the server, error {:#x}", reason->error_code));
  }
  std::string detail = ngtcp2_strerror(error);
  if (error == NGTCP2_ERR_CRYPTO) detail += ", " + openssl_error();
  if (error == NGTCP2_ERR_CALLBACK_FAILURE) {
    return lost(Failure::kProtocol, "not an HTTP/3 answer");
  }
  lost(failure, detail);
}

void Http3Connection::on_events(uint32_t epoll_events, Nanos now) {
  now_ = now;
  if (state_ == State::kClosed) return;
  if ((epoll_events & EPOLLOUT) != 0 && !send_pending()) return;
  if ((epoll_events & (EPOLLIN | EPOLLERR | EPOLLHUP)) == 0) return;
  const ngtcp2_path* path = ngtcp2_conn_get_path(quic_.get());
  const ngtcp2_pkt_info info{};
  int quic_error = 0;
  const int error = socket_.receive([&](std::span<const uint8_t> datagram) {
    if (quic_error != 0) return;
    saw_stream_data_ = false;
    quic_error =
        ngtcp2_conn_read_pkt(quic_.get(), path, &info, datagram.data(), datagram.size(), now);
    if (!saw_stream_data_) ++context_.tally.traffic.without_stream_received;
  });
  if (error != 0) {
    return lost(state_ == State::kConnecting ? Failure::kConnect : Failure::kClosed,
                std::generic_category().message(error));
  }
  if (quic_error != 0) return lost_quic(quic_error);
  if (state_ == State::kConnecting && handshake_done_) become_ready(ssl_.get(), now);
}

void Http3Connection::on_deadline(Nanos now) {
  now_ = now;
  if (state_ == State::kClosed) return;
  if (const int error = ngtcp2_conn_handle_expiry(quic_.get(), now); error != 0) lost_quic(error);
}

size_t Http3Connection::room() const {
  const size_t room = Connection::room();
  if (room == 0) return 0;
  return static_cast<size_t>(
      std::min<uint64_t>(room, ngtcp2_conn_get_streams_bidi_left(quic_.get())));
}

void Http3Connection::submit(Nanos intended, Nanos now) {
  Exchange& exchange = take(intended, now);
  static constexpr nghttp3_data_reader kUpload{&Http3Callbacks::read_upload};
  if (ngtcp2_conn_open_bidi_stream(quic_.get(), &exchange.stream, nullptr) != 0 ||
      nghttp3_conn_submit_request(http_.get(), exchange.stream, fields_.data(), fields_.size(),
                                  context_.plan.upload_size() > 0 ? &kUpload : nullptr,
                                  &exchange) != 0) {
    send_again(exchange);
    leave();
  }
}

ngtcp2_ssize Http3Connection::write_packet(ngtcp2_path* path, ngtcp2_pkt_info* info, uint8_t* to,
                                           size_t size, Nanos now) {
  ngtcp2_conn_info before;
  ngtcp2_conn_get_conn_info(quic_.get(), &before);
  for (;;) {
    std::array<nghttp3_vec, 16> vectors;
    int64_t stream = -1;
    int end = 0;
    nghttp3_ssize count = 0;
    if (http_ && ngtcp2_conn_get_max_data_left(quic_.get()) > 0) {
      count =
          nghttp3_conn_writev_stream(http_.get(), &stream, &end, vectors.data(), vectors.size());
      if (count < 0) return NGTCP2_ERR_CALLBACK_FAILURE;
    }
    uint32_t flags = NGTCP2_WRITE_STREAM_FLAG_MORE;
    if (end != 0) flags |= NGTCP2_WRITE_STREAM_FLAG_FIN;
    // Only datagrams of equal size go out together; an upload fills them.
    if (context_.plan.upload_size() > 0) flags |= NGTCP2_WRITE_STREAM_FLAG_PADDING;
    ngtcp2_ssize taken = -1;
    const ngtcp2_ssize written = ngtcp2_conn_writev_stream(
        quic_.get(), path, info, to, size, &taken, flags, stream,
        reinterpret_cast<const ngtcp2_vec*>(vectors.data()), static_cast<size_t>(count), now);
    if (written == NGTCP2_ERR_STREAM_DATA_BLOCKED) {
      nghttp3_conn_block_stream(http_.get(), stream);
      continue;
    }
    if (written == NGTCP2_ERR_STREAM_SHUT_WR) {
      nghttp3_conn_shutdown_stream_write(http_.get(), stream);
      continue;
    }
    if (taken >= 0 &&
        nghttp3_conn_add_write_offset(http_.get(), stream, static_cast<size_t>(taken)) != 0) {
      return NGTCP2_ERR_CALLBACK_FAILURE;
    }
    if (written == NGTCP2_ERR_WRITE_MORE) continue;
    if (written > 0) {
      // Only packets that elicit an acknowledgement are in flight (RFC 9002 2).
      ngtcp2_conn_info after;
      ngtcp2_conn_get_conn_info(quic_.get(), &after);
      if (after.bytes_in_flight == before.bytes_in_flight) ++context_.tally.traffic.ack_only_sent;
    }
    return written;
  }
}

bool Http3Connection::send_pending() {
  if (pending_.empty()) return true;
  const int error = socket_.send(pending_, pending_segment_);
  if (error == EAGAIN) return false;
  wants_write_ = false;
  pending_.clear();
  if (error == 0) return true;
  lost(state_ == State::kConnecting ? Failure::kConnect : Failure::kClosed,
       std::generic_category().message(error));
  return false;
}

void Http3Connection::flush(Nanos now) {
  if (state_ == State::kClosed || !send_pending()) return;
  static thread_local std::array<uint8_t, kGsoRoom> buffer;
  size_t quantum = ngtcp2_conn_get_send_quantum(quic_.get());
  const size_t datagrams = context_.options.gso ? kGsoDatagrams : 1;
  while (quantum >= context_.options.udp_payload) {
    ngtcp2_path_storage path;
    ngtcp2_path_storage_zero(&path);
    ngtcp2_pkt_info info{};
    size_t segment = 0;
    const ngtcp2_ssize size = ngtcp2_conn_write_aggregate_pkt2(
        quic_.get(), &path.path, &info, buffer.data(), std::min(quantum, buffer.size()), &segment,
        &QuicCallbacks::write_packet, datagrams, now);
    if (size < 0) return lost_quic(static_cast<int>(size));
    if (size == 0) break;
    const std::span<const uint8_t> bytes(buffer.data(), static_cast<size_t>(size));
    const int error = socket_.send(bytes, segment);
    if (error == EAGAIN) {
      pending_.assign(bytes.begin(), bytes.end());
      pending_segment_ = segment;
      wants_write_ = true;
      break;
    }
    if (error != 0) {
      return lost(state_ == State::kConnecting ? Failure::kConnect : Failure::kClosed,
                  std::generic_category().message(error));
    }
    quantum -= std::min(quantum, bytes.size());
  }
  ngtcp2_conn_update_pkt_tx_time(quic_.get(), now);
  deadline_ = ngtcp2_conn_get_expiry(quic_.get());
}

void Http3Connection::close(Nanos now) {
  if (state_ == State::kClosed) return;
  const bool established = state_ != State::kConnecting;
  abandon();
  if (established) {
    std::array<uint8_t, 1452> buffer;
    ngtcp2_ccerr reason;
    ngtcp2_ccerr_default(&reason);
    ngtcp2_ccerr_set_application_error(&reason, NGHTTP3_H3_NO_ERROR, nullptr, 0);
    ngtcp2_path_storage path;
    ngtcp2_path_storage_zero(&path);
    ngtcp2_pkt_info info{};
    const ngtcp2_ssize size = ngtcp2_conn_write_connection_close(
        quic_.get(), &path.path, &info, buffer.data(), buffer.size(), &reason, now);
    if (size > 0) {
      socket_.send({buffer.data(), static_cast<size_t>(size)}, static_cast<size_t>(size));
    }
  }
  socket_.close();
}

Traffic Http3Connection::transport_traffic() const {
  Traffic traffic;
  if (!quic_) return traffic;
  ngtcp2_conn_info info;
  ngtcp2_conn_get_conn_info(quic_.get(), &info);
  traffic.packets_sent = info.pkt_sent;
  traffic.packets_received = info.pkt_recv;
  traffic.packets_lost = info.pkt_lost;
  return traffic;
}

}  // namespace pqedge::measure::load
