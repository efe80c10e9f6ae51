#include "probe/quic.h"

#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <ngtcp2/ngtcp2_crypto_ossl.h>
#include <openssl/rand.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <format>

#include "crypto/code_names.h"
#include "probe/session.h"

namespace pqedge::probe {
namespace {

constexpr size_t kDatagram = 1200;  // what every path must carry (RFC 9000 14.1)
constexpr uint64_t kWindow = 256 * 1024;
constexpr uint64_t kCryptoError = 0x100;  // plus the alert (RFC 9001 4.8)

class QuicClient {
 public:
  QuicClient(Dialer& dialer, QuicReport& report) : dialer_(dialer), report_(report) {}
  ~QuicClient() {
    if (ssl_ == nullptr) return;
    // The library's hooks look at the application data: none must be left.
    SSL_set_msg_callback(ssl_.get(), nullptr);
    SSL_set_app_data(ssl_.get(), nullptr);
  }
  QuicClient(const QuicClient&) = delete;
  QuicClient& operator=(const QuicClient&) = delete;

  // Error: why there is no handshake.
  Result<void> run();

 private:
  struct Free {
    void operator()(ngtcp2_conn* conn) const { ngtcp2_conn_del(conn); }
    void operator()(ngtcp2_crypto_ossl_ctx* ctx) const { ngtcp2_crypto_ossl_ctx_del(ctx); }
  };

  Result<void> open_tls();
  Result<void> open_socket();
  Result<void> open_connection();
  Result<void> loop();
  Result<void> write();
  Result<void> receive();
  void take_end();
  void say_goodbye();
  std::unexpected<Error> explain(int error);

  static QuicClient& self(void* user) { return *static_cast<QuicClient*>(user); }
  static const ngtcp2_callbacks& callbacks();

  Dialer& dialer_;
  QuicReport& report_;
  Nanos deadline_ = 0;
  net::Fd socket_;
  net::Address local_;
  Seen seen_;
  crypto::SslCtxPtr context_;
  crypto::SslPtr ssl_;
  std::unique_ptr<ngtcp2_crypto_ossl_ctx, Free> helper_;
  ngtcp2_crypto_conn_ref reference_{};
  std::unique_ptr<ngtcp2_conn, Free> quic_;
  bool completed_ = false;
};

const ngtcp2_callbacks& QuicClient::callbacks() {
  static const ngtcp2_callbacks all = [] {
    ngtcp2_callbacks c{};
    c.client_initial = ngtcp2_crypto_client_initial_cb;
    c.recv_crypto_data = ngtcp2_crypto_recv_crypto_data_cb;
    c.encrypt = ngtcp2_crypto_encrypt_cb;
    c.decrypt = ngtcp2_crypto_decrypt_cb;
    c.hp_mask = ngtcp2_crypto_hp_mask_cb;
    c.recv_retry = [](ngtcp2_conn* conn, const ngtcp2_pkt_hd* header, void* user) {
      self(user).report_.retry_packet = true;
      return ngtcp2_crypto_recv_retry_cb(conn, header, user);
    };
    c.update_key = ngtcp2_crypto_update_key_cb;
    c.delete_crypto_aead_ctx = ngtcp2_crypto_delete_crypto_aead_ctx_cb;
    c.delete_crypto_cipher_ctx = ngtcp2_crypto_delete_crypto_cipher_ctx_cb;
    c.get_path_challenge_data2 = ngtcp2_crypto_get_path_challenge_data2_cb;
    c.version_negotiation = ngtcp2_crypto_version_negotiation_cb;
    c.rand = [](uint8_t* to, size_t size, const ngtcp2_rand_ctx*) {
      RAND_bytes(to, static_cast<int>(size));
    };
    c.get_new_connection_id2 = [](ngtcp2_conn*, ngtcp2_cid* id, ngtcp2_stateless_reset_token* token,
                                  size_t length, void*) {
      RAND_bytes(id->data, static_cast<int>(length));
      id->datalen = length;
      RAND_bytes(token->data, sizeof token->data);
      return 0;
    };
    c.handshake_completed = [](ngtcp2_conn*, void* user) {
      self(user).completed_ = true;
      return 0;
    };
    return c;
  }();
  return all;
}

Result<void> QuicClient::open_tls() {
  static const int initialised = ngtcp2_crypto_ossl_init();
  if (initialised != 0) return fail("the TLS library has no QUIC support");
  SessionAsk asked;
  asked.alpn = {"h3"};
  auto context = make_context(dialer_.options(), asked);
  if (!context) return std::unexpected(context.error());
  context_ = std::move(*context);
  SSL_CTX_set_min_proto_version(context_.get(), TLS1_3_VERSION);  // RFC 9001 4.2
  auto ssl = make_client(context_.get(), dialer_.options(), asked, seen_);
  if (!ssl) return std::unexpected(ssl.error());
  ssl_ = std::move(*ssl);
  ngtcp2_crypto_ossl_ctx* helper = nullptr;
  if (ngtcp2_crypto_ossl_ctx_new(&helper, ssl_.get()) != 0) return fail("out of memory");
  helper_.reset(helper);
  if (ngtcp2_crypto_ossl_configure_client_session(ssl_.get()) != 0) {
    return fail("TLS for QUIC: {}", crypto::take_openssl_error());
  }
  reference_.get_conn = [](ngtcp2_crypto_conn_ref* reference) {
    return self(reference->user_data).quic_.get();
  };
  reference_.user_data = this;
  SSL_set_app_data(ssl_.get(), &reference_);
  return {};
}

Result<void> QuicClient::open_socket() {
  const net::Address& server = dialer_.address();
  socket_ = net::Fd(::socket(server.family(), SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket_) return fail_errno(errno, "socket");
  if (::connect(socket_.get(), server.data(), server.size()) != 0) {
    return fail_errno(errno, "cannot reach the UDP port");
  }
  auto local = net::local_address(socket_.get());
  if (!local) return std::unexpected(local.error());
  local_ = *local;
  return {};
}

Result<void> QuicClient::open_connection() {
  ngtcp2_settings settings;
  ngtcp2_settings_default(&settings);
  settings.initial_ts = monotonic_now();
  settings.handshake_timeout = dialer_.options().timeout;
  settings.max_tx_udp_payload_size = kDatagram;
  settings.no_pmtud = 1;
  ngtcp2_transport_params parameters;
  ngtcp2_transport_params_default(&parameters);
  parameters.initial_max_stream_data_uni = kWindow;
  parameters.initial_max_data = kWindow;
  parameters.initial_max_streams_uni = 3;  // HTTP/3's own (RFC 9114 6.2)
  parameters.max_idle_timeout = dialer_.options().timeout;
  ngtcp2_cid server_id{};
  ngtcp2_cid own_id{};
  server_id.datalen = NGTCP2_MIN_INITIAL_DCIDLEN;
  own_id.datalen = NGTCP2_MIN_INITIAL_DCIDLEN;
  RAND_bytes(server_id.data, static_cast<int>(server_id.datalen));
  RAND_bytes(own_id.data, static_cast<int>(own_id.datalen));
  const net::Address& server = dialer_.address();
  ngtcp2_path path{};
  path.local = {const_cast<sockaddr*>(local_.data()), local_.size()};
  path.remote = {const_cast<sockaddr*>(server.data()), server.size()};
  ngtcp2_conn* quic = nullptr;
  const int error = ngtcp2_conn_client_new(&quic, &server_id, &own_id, &path, NGTCP2_PROTO_VER_V1,
                                           &callbacks(), &settings, &parameters, nullptr, this);
  if (error != 0) return fail("QUIC: {}", ngtcp2_strerror(error));
  quic_.reset(quic);
  ngtcp2_conn_set_tls_native_handle(quic, helper_.get());
  return {};
}

std::unexpected<Error> QuicClient::explain(int error) {
  if (error == NGTCP2_ERR_HANDSHAKE_TIMEOUT || error == NGTCP2_ERR_IDLE_CLOSE) {
    return fail("no answer over UDP in time");
  }
  if (error == NGTCP2_ERR_RECV_VERSION_NEGOTIATION) return fail("it speaks no QUIC version 1");
  if (error == NGTCP2_ERR_DRAINING) {
    const uint64_t code = ngtcp2_conn_get_ccerr(quic_.get())->error_code;
    if (code >= kCryptoError && code < 2 * kCryptoError) {
      return fail("the alert {}", crypto::alert_name(static_cast<uint8_t>(code - kCryptoError)));
    }
    return fail("the server closed the connection, QUIC error {:#x}", code);
  }
  std::string text = ngtcp2_strerror(error);
  if (error == NGTCP2_ERR_CRYPTO) text += ", " + crypto::take_openssl_error();
  return fail("the handshake failed: {}", text);
}

Result<void> QuicClient::write() {
  std::array<uint8_t, kDatagram> buffer;
  for (;;) {
    ngtcp2_path_storage path;
    ngtcp2_path_storage_zero(&path);
    ngtcp2_pkt_info info{};
    const Nanos now = monotonic_now();
    const ngtcp2_ssize size =
        ngtcp2_conn_writev_stream(quic_.get(), &path.path, &info, buffer.data(), buffer.size(),
                                  nullptr, NGTCP2_WRITE_STREAM_FLAG_NONE, -1, nullptr, 0, now);
    if (size < 0) return explain(static_cast<int>(size));
    if (size == 0) {
      ngtcp2_conn_update_pkt_tx_time(quic_.get(), now);
      return {};
    }
    if (::send(socket_.get(), buffer.data(), static_cast<size_t>(size), 0) < 0) {
      if (errno == ECONNREFUSED) return fail("nothing listens on the UDP port");
      // EMSGSIZE and EAGAIN are losses to QUIC: it sends again.
      if (errno != EMSGSIZE && errno != EAGAIN) return fail_errno(errno, "send");
    }
  }
}

Result<void> QuicClient::receive() {
  std::array<uint8_t, 65536> buffer;
  while (!completed_) {
    if (monotonic_now() >= deadline_) return explain(NGTCP2_ERR_HANDSHAKE_TIMEOUT);
    const ssize_t size = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (size < 0 && errno == EAGAIN) return {};
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == ECONNREFUSED) return fail("nothing listens on the UDP port");
    if (size < 0) return fail_errno(errno, "receive");
    crypto::clear_errors();
    const ngtcp2_pkt_info info{};
    const int error =
        ngtcp2_conn_read_pkt(quic_.get(), ngtcp2_conn_get_path(quic_.get()), &info, buffer.data(),
                             static_cast<size_t>(size), monotonic_now());
    if (error != 0) {
      if (error != NGTCP2_ERR_DRAINING) say_goodbye();
      return explain(error);
    }
  }
  return {};
}

Result<void> QuicClient::loop() {
  while (!completed_) {
    if (auto written = write(); !written) return written;
    const Nanos wake = std::min<Nanos>(ngtcp2_conn_get_expiry(quic_.get()), deadline_);
    const auto ready = wait_for(socket_.get(), POLLIN, wake);
    if (!ready && ready.error().code != ETIMEDOUT) return ready;
    if (auto taken = receive(); !taken) return taken;
    const Nanos now = monotonic_now();
    if (completed_) break;
    if (now >= deadline_) return explain(NGTCP2_ERR_HANDSHAKE_TIMEOUT);
    if (ngtcp2_conn_get_expiry(quic_.get()) > now) continue;
    if (const int error = ngtcp2_conn_handle_expiry(quic_.get(), now); error != 0) {
      return explain(error);
    }
  }
  return write();  // the client's Finished
}

void QuicClient::say_goodbye() {
  std::array<uint8_t, kDatagram> buffer;
  ngtcp2_path_storage path;
  ngtcp2_path_storage_zero(&path);
  ngtcp2_pkt_info info{};
  ngtcp2_ccerr reason;
  ngtcp2_ccerr_default(&reason);
  const ngtcp2_ssize size = ngtcp2_conn_write_connection_close(
      quic_.get(), &path.path, &info, buffer.data(), buffer.size(), &reason, monotonic_now());
  if (size > 0) ::send(socket_.get(), buffer.data(), static_cast<size_t>(size), 0);
}

void QuicClient::take_end() {
  report_.group = seen_.group;
  report_.cipher = seen_.cipher;
  report_.signature = seen_.signature;
  const unsigned char* alpn = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(ssl_.get(), &alpn, &size);
  report_.accepted = {.yes = as_text(Bytes(alpn, size)) == "h3", .detail = {}};
  if (!*report_.accepted.yes) report_.accepted.detail = "the server chose no ALPN h3";
}

Result<void> QuicClient::run() {
  if (auto taken = dialer_.take_one(); !taken) return taken;
  deadline_ = monotonic_now() + dialer_.options().timeout;
  if (auto opened = open_tls(); !opened) return opened;
  if (auto opened = open_socket(); !opened) return opened;
  if (auto opened = open_connection(); !opened) return opened;
  if (auto done = loop(); !done) return done;
  take_end();
  say_goodbye();
  return {};
}

}  // namespace

void ask_quic(Dialer& dialer, Report& report) {
  if (auto done = QuicClient(dialer, report.quic).run(); !done) {
    report.quic.accepted = {.yes = false, .detail = done.error().message};
  }
}

}  // namespace pqedge::probe
