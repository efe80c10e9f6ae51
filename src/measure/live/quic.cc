#include "measure/live/quic.h"

#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <ngtcp2/ngtcp2_crypto_ossl.h>
#include <openssl/rand.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <format>

#include "crypto/handles.h"
#include "measure/live/endpoint.h"
#include "measure/live/names.h"
#include "measure/live/observer.h"
#include "measure/live/quic_initial.h"

namespace pqedge::measure::live {

namespace {

constexpr size_t kDatagram = 1200;  // what every path must carry (RFC 9000 14.1)
constexpr size_t kIdLength = 8;
constexpr uint64_t kWindow = 1024 * 1024;
constexpr uint64_t kCryptoError = 0x0100;  // plus the TLS alert (RFC 9001 4.8)

class QuicClient {
 public:
  QuicClient(const Options& options, LiveRecord& record) : options_(options), record_(record) {}
  ~QuicClient();
  QuicClient(const QuicClient&) = delete;
  QuicClient& operator=(const QuicClient&) = delete;

  Result<void> run();

 private:
  struct Free {
    void operator()(ngtcp2_conn* conn) const { ngtcp2_conn_del(conn); }
    void operator()(ngtcp2_crypto_ossl_ctx* ctx) const { ngtcp2_crypto_ossl_ctx_del(ctx); }
  };

  Result<void> open();
  Result<void> open_connection();
  Result<void> open_socket(const net::Address& server);
  Result<void> loop();
  Result<void> write();
  Result<void> receive();
  void count_end();
  void say_goodbye();
  std::unexpected<Error> ended(std::string outcome, const std::string& message);
  std::unexpected<Error> explain(int error);

  static QuicClient& self(void* user) { return *static_cast<QuicClient*>(user); }
  static ngtcp2_conn* connection(ngtcp2_crypto_conn_ref* reference) {
    return self(reference->user_data).quic_.get();
  }
  static int completed(ngtcp2_conn*, void* user) {
    self(user).completed_ = true;
    return 0;
  }
  static int new_id(ngtcp2_conn*, ngtcp2_cid* id, ngtcp2_stateless_reset_token* token,
                    size_t length, void*) {
    RAND_bytes(id->data, static_cast<int>(length));
    id->datalen = length;
    RAND_bytes(token->data, sizeof(token->data));
    return 0;
  }
  static void random(uint8_t* to, size_t size, const ngtcp2_rand_ctx*) {
    RAND_bytes(to, static_cast<int>(size));
  }
  static ngtcp2_callbacks callbacks();

  const Options& options_;
  LiveRecord& record_;
  Nanos start_ = 0;
  Nanos deadline_ = 0;
  std::optional<Observer> observer_;
  net::Fd socket_;
  net::Address local_;
  net::Address server_;
  crypto::SslCtxPtr context_;
  crypto::SslPtr ssl_;
  std::unique_ptr<ngtcp2_crypto_ossl_ctx, Free> crypto_;
  ngtcp2_crypto_conn_ref reference_{};
  std::unique_ptr<ngtcp2_conn, Free> quic_;
  QuicReader reader_;
  size_t client_seen_ = 0;
  size_t server_seen_ = 0;
  size_t first_flight_ = 0;  // datagrams before the server's first
  bool completed_ = false;
};

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

std::unexpected<Error> QuicClient::ended(std::string outcome, const std::string& message) {
  record_.outcome = std::move(outcome);
  return std::unexpected(Error{record_.target + ": " + message, 0});
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
  settings.max_tx_udp_payload_size = kDatagram;
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

std::unexpected<Error> QuicClient::explain(int error) {
  const ngtcp2_ccerr* reason = ngtcp2_conn_get_ccerr(quic_.get());
  uint64_t code = reason->error_code;
  if (reader_.close_error()) code = *reader_.close_error();
  if (error == NGTCP2_ERR_DRAINING && code >= kCryptoError && code < kCryptoError + 0x100) {
    const std::string alert = alert_name(static_cast<uint8_t>(code - kCryptoError));
    return ended("alert " + alert,
                 std::format("the server refused the handshake with the alert {} (offered: {})",
                             alert, options_.groups.empty() ? "OpenSSL's own list of groups"
                                                            : options_.groups));
  }
  if (error == NGTCP2_ERR_DRAINING) {
    return ended("closed", std::format("the server closed the connection in mid-handshake, QUIC "
                                       "error {:#x}", code));
  }
  if (error == NGTCP2_ERR_HANDSHAKE_TIMEOUT || error == NGTCP2_ERR_IDLE_CLOSE) {
    return ended("timeout", std::format("no handshake within {} ms; {} datagrams had come",
                                        options_.timeout / kMillisecond,
                                        record_.packets.server_to_client));
  }
  if (reader_.version_negotiation()) {
    return ended("version", "the server speaks no QUIC version 1");
  }
  std::string text = ngtcp2_strerror(error);
  if (error == NGTCP2_ERR_CRYPTO) text += ", " + crypto::take_openssl_error();
  return ended("failed", "the handshake failed: " + text);
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
    const Bytes datagram(buffer.data(), static_cast<size_t>(size));
    if (::send(socket_.get(), datagram.data(), datagram.size(), 0) < 0) {
      if (errno == ECONNREFUSED) {
        return ended("refused", "nothing listens on that UDP port (ICMP port unreachable)");
      }
      // EMSGSIZE and EAGAIN are losses to QUIC: it sends again.
      if (errno != EMSGSIZE && errno != EAGAIN) return fail_errno(errno, "{}: send", record_.target);
    }
    ++record_.packets.client_to_server;
    record_.bytes.client_to_server += datagram.size();
    reader_.sent(datagram);
    while (client_seen_ < reader_.client_messages().size()) {
      const auto& message = reader_.client_messages()[client_seen_++];
      if (message[0] == kClientHello) observer_->client_hello(message);
    }
    observer_->time("client_hello_sent");
  }
}

Result<void> QuicClient::receive() {
  std::array<uint8_t, 65536> buffer;
  for (;;) {
    const ssize_t size = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (size < 0 && errno == EAGAIN) return {};
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == ECONNREFUSED) {
      return ended("refused", "nothing listens on that UDP port (ICMP port unreachable)");
    }
    if (size < 0) return fail_errno(errno, "{}: receive", record_.target);
    const Bytes datagram(buffer.data(), static_cast<size_t>(size));
    if (record_.packets.server_to_client == 0) first_flight_ = record_.packets.client_to_server;
    observer_->time("first_byte");
    ++record_.packets.server_to_client;
    record_.bytes.server_to_client += datagram.size();
    reader_.received(datagram);
    while (server_seen_ < reader_.server_messages().size()) {
      const auto& message = reader_.server_messages()[server_seen_++];
      if (message[0] == kServerHello) observer_->server_hello(message);
    }
    const ngtcp2_pkt_info info{};
    const int error = ngtcp2_conn_read_pkt(quic_.get(), ngtcp2_conn_get_path(quic_.get()), &info,
                                           datagram.data(), datagram.size(), monotonic_now());
    if (error != 0) {
      // A client that refuses the server's flight says so (RFC 9000 10.2.3).
      if (error != NGTCP2_ERR_DRAINING) say_goodbye();
      return explain(error);
    }
    if (completed_) return {};
  }
}

Result<void> QuicClient::loop() {
  while (!completed_) {
    if (auto written = write(); !written) return written;
    const Nanos wake = std::min<Nanos>(ngtcp2_conn_get_expiry(quic_.get()), deadline_);
    if (auto ready = wait_for(socket_.get(), POLLIN, wake); !ready && ready.error().code != ETIMEDOUT) {
      return ready;
    }
    if (auto taken = receive(); !taken) return taken;
    if (completed_) break;
    const Nanos now = monotonic_now();
    if (now >= deadline_) return explain(NGTCP2_ERR_HANDSHAKE_TIMEOUT);
    if (ngtcp2_conn_get_expiry(quic_.get()) <= now) {
      if (const int error = ngtcp2_conn_handle_expiry(quic_.get(), now); error != 0) {
        return explain(error);
      }
    }
  }
  return write();  // the client's Finished
}

void QuicClient::count_end() {
  record_.packets_known = true;
  record_.facts["packets"] =
      "UDP datagrams, one system call each (no segmentation or receive offload), to the client's "
      "Finished";
  record_.facts["bytes"] = "of UDP payload";
  record_.facts["group"] =
      "read from key_share in the ServerHello, in Initial packets that were decrypted from the "
      "datagrams on the wire (RFC 9001 5.2)";
  record_.sizes["client_datagrams"] = first_flight_;
  record_.sizes["initial_packets_client"] = reader_.initial_packets(false);
  record_.sizes["initial_packets_server"] = reader_.initial_packets(true);
  record_.sizes["quic_padding_client"] = reader_.initial_padding(false);
  record_.sizes["quic_padding_server"] = reader_.initial_padding(true);
  if (reader_.retry()) record_.facts["retry"] = "the server proved our address by a Retry packet";
  ngtcp2_conn_info info;
  ngtcp2_conn_get_conn_info(quic_.get(), &info);
  if (info.smoothed_rtt != 0) {
    record_.times_us["round_trip"] = static_cast<double>(info.smoothed_rtt) / 1000;
  }
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
  if (size > 0) static_cast<void>(::send(socket_.get(), buffer.data(), static_cast<size_t>(size), 0));
}

Result<void> QuicClient::run() {
  record_.outcome = "failed";
  if (auto opened = open(); !opened) return opened;
  const auto done = loop();
  if (done) observer_->time("finished");
  count_end();
  if (!done) return done;
  if (!observer_->saw_server_hello()) {
    return ended("failed", "no ServerHello could be read on the wire");
  }
  read_end(ssl_.get(), record_);
  record_.outcome = "handshake";
  say_goodbye();
  return {};
}

}  // namespace

Result<void> quic_handshake(const Options& options, LiveRecord& record) {
  return QuicClient(options, record).run();
}

}  // namespace pqedge::measure::live
