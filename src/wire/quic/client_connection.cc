#include "wire/quic/client_connection.h"

#include <openssl/rand.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "crypto/backend_handshake.h"
#include "wire/quic/memory.h"
#include "wire/quic/path.h"
#include "wire/quic/tls_session.h"

namespace pqedge::quic {
namespace {

constexpr int kReceiveBuffer = 2 * 1024 * 1024;
constexpr int kBatches = 4;  // read in a turn before others have theirs
// That the server's machine refuses a datagram may be old news, or forged: it counts when it is
// said again and again and nothing else comes.
constexpr uint8_t kRefusals = 3;

constexpr Nanos kIdleTimeout = 60 * kSecond;
constexpr uint64_t kUnidirectionalStreams = 8;  // HTTP/3 has three, and room for what is unknown
constexpr uint64_t kUnidirectionalWindow = 16 * 1024;
constexpr size_t kIdLength = 8;

void random_bytes(uint8_t* dest, size_t size) {
  if (RAND_bytes(dest, static_cast<int>(size)) != 1) std::abort();
}

ngtcp2_cid random_id(size_t length) {
  ngtcp2_cid id{};
  id.datalen = length;
  random_bytes(id.data, length);
  return id;
}

}  // namespace

struct ClientCallbacks {
  static ClientConnection& self(void* user_data) {
    return static_cast<ClientConnection&>(*static_cast<Streams*>(user_data));
  }

  static ngtcp2_conn* connection(ngtcp2_crypto_conn_ref* reference) {
    return static_cast<ClientConnection*>(reference->user_data)->conn_;
  }

  static const ngtcp2_callbacks& table() {
    static const ngtcp2_callbacks callbacks = [] {
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
      c.rand = [](uint8_t* dest, size_t size, const ngtcp2_rand_ctx*) { random_bytes(dest, size); };
      c.get_new_connection_id2 = [](ngtcp2_conn*, ngtcp2_cid* id,
                                    ngtcp2_stateless_reset_token* token, size_t length, void*) {
        *id = random_id(length);
        random_bytes(token->data, sizeof token->data);
        return 0;
      };
      c.handshake_completed = [](ngtcp2_conn*, void* user) {
        self(user).handshake_completed();
        return 0;
      };
      ClientConnection::set_stream_callbacks(c);
      return c;
    }();
    return callbacks;
  }
};

ClientConnection::ClientConnection(net::Loop& loop, ClientOptions options,
                                   ConnectionHandler& application, ClientObserver& observer)
    : loop_(loop),
      options_(std::move(options)),
      application_(&application),
      observer_(observer),
      timer_([](void* self) { static_cast<ClientConnection*>(self)->on_timer(); }, this),
      turn_end_([](void* self) { static_cast<ClientConnection*>(self)->flush(); }, this) {
  ngtcp2_ccerr_default(&close_error_);
}

ClientConnection::~ClientConnection() {
  if (conn_ != nullptr && ending_ != Ending::drop) send_close();
  release();
}

// ---- beginning ----------------------------------------------------------------------------------

Result<void> ClientConnection::start() {
  if (auto ready = initialise_tls(); !ready) return ready;
  auto socket = net::ConnectedUdp::open(options_.tls.address, kReceiveBuffer);
  if (!socket) return std::unexpected(socket.error());
  socket_.emplace(std::move(*socket));
  receiver_.emplace(socket_->fd(), socket_->local());
  if (auto opened = open_tls(); !opened) return opened;
  if (auto opened = open_connection(); !opened) return opened;
  if (auto added = loop_.add(socket_->fd(), *this, true); !added) return added;
  wake();
  return {};
}

Result<void> ClientConnection::open_tls() {
  crypto::clear_errors();
  if (options_.tls.context == nullptr) return fail("TLS toward the backend cannot be set up");
  ssl_.reset(SSL_new(options_.tls.context.get()));
  if (ssl_ == nullptr) return fail("TLS: {}", crypto::take_openssl_error());
  SSL* ssl = ssl_.get();
  SSL_set_connect_state(ssl);
  memory::insist([&] { return ngtcp2_crypto_ossl_ctx_new(&crypto_, ssl) == 0; });
  reference_ = {.get_conn = &ClientCallbacks::connection, .user_data = this};
  SSL_set_app_data(ssl, &reference_);
  if (ngtcp2_crypto_ossl_configure_client_session(ssl) != 0 ||
      SSL_set_min_proto_version(ssl, TLS1_3_VERSION) != 1 ||  // RFC 9001 4.2
      !crypto::set_up_backend_hello(ssl, options_.tls, learned_)) {
    return fail("TLS for QUIC: {}", crypto::take_openssl_error());
  }
  return {};
}

Result<void> ClientConnection::open_connection() {
  ngtcp2_settings settings;
  ngtcp2_settings_default(&settings);
  settings.initial_ts = loop_.now();
  fill_path_probes(settings);

  ngtcp2_transport_params parameters;
  ngtcp2_transport_params_default(&parameters);
  parameters.initial_max_stream_data_bidi_local = options_.stream_window;
  parameters.initial_max_stream_data_uni = kUnidirectionalWindow;
  parameters.initial_max_data =
      options_.connection_window + kUnidirectionalStreams * kUnidirectionalWindow;
  parameters.initial_max_streams_uni = kUnidirectionalStreams;
  parameters.max_idle_timeout = kIdleTimeout;
  parameters.disable_active_migration = 1;
  parameters.grease_quic_bit = 1;

  const ngtcp2_cid server_id = random_id(NGTCP2_MIN_INITIAL_DCIDLEN);
  const ngtcp2_cid own_id = random_id(kIdLength);
  const ngtcp2_path path = path_of(socket_->local(), options_.tls.address);
  const int error = ngtcp2_conn_client_new(&conn_, &server_id, &own_id, &path, NGTCP2_PROTO_VER_V1,
                                           &ClientCallbacks::table(), &settings, &parameters,
                                           library_memory(), static_cast<Streams*>(this));
  if (error != 0) {
    conn_ = nullptr;
    return fail("QUIC: {}", ngtcp2_strerror(error));
  }
  ngtcp2_conn_set_tls_native_handle(conn_, crypto_);
  return {};
}

// ---- what comes ---------------------------------------------------------------------------------

void ClientConnection::on_events(uint32_t events) {
  if (ending_ == Ending::ended) return;
  if ((events & kError) != 0) {
    if (const int code = net::socket_error(socket_->fd()); code != 0) refused(code);
  }
  if ((events & kReadable) != 0) receive();
}

void ClientConnection::receive() {
  bool more = true;
  for (int batch = 0; more && batch < kBatches; ++batch) {  // what is left is told again
    more = receiver_->receive([this](Bytes datagram, const net::Address&, const net::Address&,
                                     uint8_t ecn) { read(datagram, ecn); });
  }
  after_receive();
}

void ClientConnection::read(Bytes datagram, uint8_t ecn) {
  if (closing()) return;
  ++datagrams_received_;
  const ngtcp2_path path = path_of(socket_->local(), options_.tls.address);
  const ngtcp2_pkt_info info{.ecn = ecn};
  crypto::clear_errors();
  reading_ = true;
  const int status =
      ngtcp2_conn_read_pkt(conn_, &path, &info, datagram.data(), datagram.size(), loop_.now());
  reading_ = false;
  if (status != 0) return read_failed(status);
  refusals_ = 0;
}

void ClientConnection::after_receive() {
  if (!closing() && datagrams_received_ > 0 && !std::exchange(told_heard_, true)) {
    observer_.on_server_heard();
  }
  if (!closing() && completed_ && !told_done_) {
    const crypto::BackendTlsFacts facts =
        crypto::read_backend_facts(ssl_.get(), options_.tls, learned_);
    if (facts.alpn.empty()) {  // RFC 9001 8.1
      fail_tls(crypto::BackendFault::other, {"the server agrees to no protocol (ALPN)", 0});
      ngtcp2_ccerr close;
      ngtcp2_ccerr_set_tls_alert(&close, SSL_AD_NO_APPLICATION_PROTOCOL, nullptr, 0);
      request_close(close, "no protocol was agreed on");
    } else {
      told_done_ = true;
      observer_.on_handshake_done(facts);
    }
  }
  if (!closing() && told_done_ && application_ != nullptr) application_->on_received();
  wake();
}

void ClientConnection::refused(int code) {
  if (closing()) return;
  if (told_heard_ && ++refusals_ < kRefusals) {
    wake();  // what was lost with it is sent again in its time
    return;
  }
  unreachable_ = std::generic_category().message(code);
  request_end(Ending::drop, "the server's machine refuses datagrams");
}

Stream* ClientConnection::stream_opened(int64_t id) {
  uint64_t code = 0;
  Stream* stream = application_ == nullptr ? nullptr : application_->make_stream(id, code);
  if (stream == nullptr) {
    ngtcp2_conn_shutdown_stream(conn_, 0, id, code);
    return nullptr;
  }
  adopt(*stream, id);
  return stream;
}

// ---- for the application ------------------------------------------------------------------------

void ClientConnection::wake() {
  if (ending_ != Ending::ended) loop_.defer(turn_end_);
}

uint64_t ClientConnection::streams_left() const {
  return closing() || !completed_ ? 0 : ngtcp2_conn_get_streams_bidi_left(conn_);
}

void ClientConnection::allow_stream() {
  if (!closing()) ngtcp2_conn_extend_max_streams_uni(conn_, 1);
}

Nanos ClientConnection::probe_timeout() const {
  return conn_ == nullptr ? 0 : ngtcp2_conn_get_pto(conn_);
}

void ClientConnection::keep_alive(Nanos interval) {
  if (closing()) return;
  ngtcp2_conn_set_keep_alive_timeout(conn_, interval);
  wake();
}

uint64_t ClientConnection::packets_received() const {
  if (conn_ == nullptr) return 0;
  ngtcp2_conn_info info;
  ngtcp2_conn_get_conn_info(conn_, &info);
  return info.pkt_recv;
}

bool ClientConnection::quiet() const {
  if (closing()) return false;
  uint8_t byte;
  return recv(socket_->fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
         (errno == EAGAIN || errno == EINTR);
}

void ClientConnection::close(uint64_t code, std::string_view reason, bool written_out) {
  if (closing()) return;
  write_before_close_ = written_out;
  ngtcp2_ccerr error;
  ngtcp2_ccerr_set_application_error(&error, code, reinterpret_cast<const uint8_t*>(reason.data()),
                                     reason.size());
  request_close(error, reason);
}

}  // namespace pqedge::quic
