#include <sys/socket.h>

#include "measure/live/endpoint.h"
#include "measure/live/quic_client.h"

namespace pqedge::measure::live {

namespace {

constexpr size_t kIdLength = 8;
constexpr uint64_t kWindow = 1024 * 1024;

}  // namespace

QuicClient::~QuicClient() {
  // The library's hooks on the SSL object look at its application data: none must be left.
  if (ssl_ == nullptr) return;
  SSL_set_msg_callback(ssl_.get(), nullptr);
  SSL_set_app_data(ssl_.get(), nullptr);
}

ngtcp2_callbacks QuicClient::callbacks() {
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
  c.get_new_connection_id2 = new_id;
  c.handshake_completed = completed;
  return c;
}

Result<void> QuicClient::open_socket(const net::Address& server) {
  server_ = server;
  socket_ = net::Fd(::socket(server.family(), SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket_) return fail_errno(errno, "socket");
  // Paths are probed by whole datagrams: none may be cut (RFC 9000 14).
  const int probe = IP_PMTUDISC_PROBE;
  if (server.family() == AF_INET) {
    setsockopt(socket_.get(), IPPROTO_IP, IP_MTU_DISCOVER, &probe, sizeof(probe));
  } else {
    setsockopt(socket_.get(), IPPROTO_IPV6, IPV6_MTU_DISCOVER, &probe, sizeof(probe));
  }
  if (::connect(socket_.get(), server.data(), server.size()) != 0) {
    record_.outcome = "unreachable";
    return fail_errno(errno, "{}: cannot reach", server.to_string());
  }
  auto local = net::local_address(socket_.get());
  if (!local) return std::unexpected(local.error());
  local_ = *local;
  return {};
}

Result<void> QuicClient::open() {
  static const int initialised = ngtcp2_crypto_ossl_init();
  if (initialised != 0) return fail("ngtcp2's OpenSSL helper cannot be used");
  auto context = make_context(options_);
  if (!context) return std::unexpected(context.error());
  context_ = std::move(*context);
  const auto address = resolve(options_);
  if (!address) return std::unexpected(address.error());
  record_.facts["address"] = address->to_string();
  if (auto opened = open_socket(*address); !opened) return opened;
  auto ssl = make_client(context_.get(), options_, "h3");
  if (!ssl) return std::unexpected(ssl.error());
  ssl_ = std::move(*ssl);
  ngtcp2_crypto_ossl_ctx* helper = nullptr;
  if (ngtcp2_crypto_ossl_ctx_new(&helper, ssl_.get()) != 0) return fail("ngtcp2: out of memory");
  crypto_.reset(helper);
  if (ngtcp2_crypto_ossl_configure_client_session(ssl_.get()) != 0) {
    return fail("TLS for QUIC: {}", crypto::take_openssl_error());
  }
  reference_ = {&QuicClient::connection, this};
  SSL_set_app_data(ssl_.get(), &reference_);
  start_ = monotonic_now();
  deadline_ = start_ + options_.timeout;
  observer_.emplace(record_, start_);
  observer_->attach(ssl_.get());
  return open_connection();
}

Result<void> QuicClient::open_connection() {
  ngtcp2_settings settings;
  ngtcp2_settings_default(&settings);
  settings.initial_ts = start_;
  settings.handshake_timeout = options_.timeout;
  settings.max_tx_udp_payload_size = kQuicDatagram;
  settings.no_pmtud = 1;  // probes are no part of a handshake's cost

  ngtcp2_transport_params params;
  ngtcp2_transport_params_default(&params);
  params.initial_max_stream_data_bidi_local = kWindow;
  params.initial_max_stream_data_uni = kWindow;
  params.initial_max_data = kWindow;
  params.initial_max_streams_uni = 3;
  params.max_idle_timeout = 30 * kSecond;
  params.active_connection_id_limit = 2;

  ngtcp2_cid server_id{};
  ngtcp2_cid own_id{};
  server_id.datalen = NGTCP2_MIN_INITIAL_DCIDLEN;
  own_id.datalen = kIdLength;
  RAND_bytes(server_id.data, static_cast<int>(server_id.datalen));
  RAND_bytes(own_id.data, static_cast<int>(own_id.datalen));
  ngtcp2_path path{};
  path.local = {const_cast<sockaddr*>(local_.data()), local_.size()};
  path.remote = {const_cast<sockaddr*>(server_.data()), server_.size()};
  static const ngtcp2_callbacks all = callbacks();
  ngtcp2_conn* quic = nullptr;
  const int error = ngtcp2_conn_client_new(&quic, &server_id, &own_id, &path, NGTCP2_PROTO_VER_V1,
                                           &all, &settings, &params, nullptr, this);
  if (error != 0) return fail("QUIC: {}", ngtcp2_strerror(error));
  quic_.reset(quic);
  ngtcp2_conn_set_tls_native_handle(quic, crypto_.get());
  return {};
}

}  // namespace pqedge::measure::live
