#include "unit/wire/quic_test_client.h"

#include <gtest/gtest.h>
#include <openssl/rand.h>
#include <sys/socket.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace pqedge::wire_test {
namespace {

constexpr Nanos kTooLong = 60 * kSecond;

QuicTestClient& self(void* user) { return *static_cast<QuicTestClient*>(user); }

void random_id(ngtcp2_cid& id, size_t size) {
  uint8_t bytes[NGTCP2_MAX_CIDLEN];
  RAND_bytes(bytes, static_cast<int>(size));
  ngtcp2_cid_init(&id, bytes, size);
}

}  // namespace

bool run_until(net::Loop& loop, const std::function<bool()>& done) {
  const Nanos end = monotonic_now() + kTooLong;
  while (!done()) {
    if (monotonic_now() > end) return false;
    loop.run_once(20 * kMillisecond);
  }
  return true;
}

void settle(net::Loop& loop, int turns) {
  for (int i = 0; i < turns; ++i) loop.run_once(0);
}

void QuicTestClient::append_log(void* user, const char* format, ...) {
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  self(user).log_ += std::string(line) + "\n";
}

QuicTestClient::QuicTestClient(net::Loop& loop, Options options)
    : loop_(loop),
      options_(std::move(options)),
      timer_([](void* c) { static_cast<QuicTestClient*>(c)->on_timer(); }, this),
      flush_([](void* c) { static_cast<QuicTestClient*>(c)->write_packets(); }, this) {
  open_socket();
  start();
  wake();
}

QuicTestClient::~QuicTestClient() {
  vanish();
  if (fd_) loop_.remove(fd_.get(), *this);
  if (ssl_context_ != nullptr) SSL_CTX_free(ssl_context_);
}

void QuicTestClient::vanish() {
  timer_.disarm();
  if (conn_ != nullptr) ngtcp2_conn_del(std::exchange(conn_, nullptr));
  if (crypto_ != nullptr) ngtcp2_crypto_ossl_ctx_del(std::exchange(crypto_, nullptr));
  if (ssl_ != nullptr) {
    SSL_set_app_data(ssl_, nullptr);
    SSL_free(std::exchange(ssl_, nullptr));
  }
}

void QuicTestClient::open_socket() {
  fd_ = net::Fd(::socket(options_.server.family(), SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const net::Address any = *net::Address::from_ip("127.0.0.1", 0);
  ASSERT_EQ(bind(fd_.get(), any.data(), any.size()), 0);
  local_ = *net::local_address(fd_.get());
  ASSERT_TRUE(loop_.add(fd_.get(), *this, true).has_value());
}

void QuicTestClient::rebind() {
  loop_.remove(fd_.get(), *this);
  fd_.reset();
  open_socket();
  // The client itself does not know: its path stays the same, only the datagrams come from
  // elsewhere.
}

void QuicTestClient::start() {
  ngtcp2_crypto_ossl_init();
  ssl_context_ = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_min_proto_version(ssl_context_, TLS1_3_VERSION);
  ASSERT_EQ(SSL_CTX_set1_groups_list(ssl_context_, options_.groups.c_str()), 1);
  ssl_ = SSL_new(ssl_context_);
  ref_.get_conn = [](ngtcp2_crypto_conn_ref* ref) {
    return static_cast<QuicTestClient*>(ref->user_data)->conn_;
  };
  ref_.user_data = this;
  SSL_set_app_data(ssl_, &ref_);
  ASSERT_EQ(ngtcp2_crypto_ossl_configure_client_session(ssl_), 0);
  SSL_set_connect_state(ssl_);
  const std::string alpn = static_cast<char>(options_.alpn.size()) + options_.alpn;
  SSL_set_alpn_protos(ssl_, reinterpret_cast<const uint8_t*>(alpn.data()),
                      static_cast<unsigned>(alpn.size()));
  SSL_set_tlsext_host_name(ssl_, "localhost");
  ASSERT_EQ(ngtcp2_crypto_ossl_ctx_new(&crypto_, ssl_), 0);

  ngtcp2_settings settings;
  ngtcp2_settings_default(&settings);
  settings.initial_ts = monotonic_now();
  if (options_.log) settings.log_printf = append_log;
  settings.token = options_.token.data();
  settings.tokenlen = options_.token.size();
  ngtcp2_transport_params parameters;
  ngtcp2_transport_params_default(&parameters);
  parameters.initial_max_stream_data_bidi_local = options_.stream_window;
  parameters.initial_max_stream_data_uni = options_.stream_window;
  parameters.initial_max_data = options_.connection_window;
  parameters.initial_max_streams_uni = options_.unidirectional_streams;
  parameters.max_idle_timeout = 60 * kSecond;
  ngtcp2_cid server;
  ngtcp2_cid own;
  random_id(server, 18);
  random_id(own, 8);
  ngtcp2_path path{
      .local = {const_cast<sockaddr*>(local_.data()), local_.size()},
      .remote = {const_cast<sockaddr*>(options_.server.data()), options_.server.size()},
      .user_data = nullptr};
  const ngtcp2_callbacks table = callbacks();
  ASSERT_EQ(ngtcp2_conn_client_new(&conn_, &server, &own, &path, NGTCP2_PROTO_VER_V1, &table,
                                   &settings, &parameters, nullptr, this),
            0);
  ngtcp2_conn_set_tls_native_handle(conn_, crypto_);
}

ngtcp2_callbacks QuicTestClient::callbacks() {
  ngtcp2_callbacks c{};
  c.client_initial = ngtcp2_crypto_client_initial_cb;
  c.recv_crypto_data = ngtcp2_crypto_recv_crypto_data_cb;
  c.encrypt = ngtcp2_crypto_encrypt_cb;
  c.decrypt = ngtcp2_crypto_decrypt_cb;
  c.hp_mask = ngtcp2_crypto_hp_mask_cb;
  c.update_key = ngtcp2_crypto_update_key_cb;
  c.delete_crypto_aead_ctx = ngtcp2_crypto_delete_crypto_aead_ctx_cb;
  c.delete_crypto_cipher_ctx = ngtcp2_crypto_delete_crypto_cipher_ctx_cb;
  c.get_path_challenge_data2 = ngtcp2_crypto_get_path_challenge_data2_cb;
  c.version_negotiation = ngtcp2_crypto_version_negotiation_cb;
  c.rand = [](uint8_t* dest, size_t size, const ngtcp2_rand_ctx*) {
    RAND_bytes(dest, static_cast<int>(size));
  };
  c.get_new_connection_id2 = [](ngtcp2_conn*, ngtcp2_cid* id, ngtcp2_stateless_reset_token* token,
                                size_t size, void*) {
    random_id(*id, size);
    RAND_bytes(token->data, sizeof token->data);
    return 0;
  };
  c.recv_retry = [](ngtcp2_conn* conn, const ngtcp2_pkt_hd* header, void* user) {
    self(user).retried_ = true;
    return ngtcp2_crypto_recv_retry_cb(conn, header, user);
  };
  c.handshake_completed = [](ngtcp2_conn*, void* user) {
    self(user).handshake_done_ = true;
    self(user).on_handshake_done();
    return 0;
  };
  c.recv_new_token = [](ngtcp2_conn*, const uint8_t* token, size_t size, void* user) {
    self(user).new_token_.assign(token, token + size);
    return 0;
  };
  c.recv_stateless_reset2 = [](ngtcp2_conn*, const ngtcp2_pkt_stateless_reset2*, void* user) {
    self(user).stateless_reset_ = true;
    return 0;
  };
  c.recv_stream_data = [](ngtcp2_conn* conn, uint32_t flags, int64_t id, uint64_t,
                          const uint8_t* data, size_t size, void* user, void*) {
    const bool end = (flags & NGTCP2_STREAM_DATA_FLAG_FIN) != 0;
    QuicTestClient& c2 = self(user);
    Stream& s = c2.streams_[id];
    s.received.append(reinterpret_cast<const char*>(data), size);
    s.ended = s.ended || end;
    if (c2.options_.extend_windows) {
      ngtcp2_conn_extend_max_stream_offset(conn, id, size);
      ngtcp2_conn_extend_max_offset(conn, size);
    }
    c2.on_stream_data(id, {data, size}, end);
    return 0;
  };
  c.stream_reset = [](ngtcp2_conn*, int64_t id, uint64_t, uint64_t code, void* user, void*) {
    self(user).streams_[id].reset = code;
    return 0;
  };
  c.stream_close = [](ngtcp2_conn*, uint32_t flags, int64_t id, uint64_t code, void* user, void*) {
    Stream& s = self(user).streams_[id];
    s.closed = true;
    if ((flags & NGTCP2_STREAM_CLOSE_FLAG_APP_ERROR_CODE_SET) != 0) s.closed_with = code;
    self(user).on_stream_closed(id);
    return 0;
  };
  c.extend_max_stream_data = [](ngtcp2_conn*, int64_t id, uint64_t, void* user, void*) {
    self(user).outgoing_[id].blocked = false;
    return 0;
  };
  return c;
}

std::string QuicTestClient::group() const {
  const char* name = SSL_get0_group_name(ssl_);
  return name == nullptr ? "" : name;
}

// ---- streams ------------------------------------------------------------------------------------

int64_t QuicTestClient::open_bidirectional() {
  int64_t id = -1;
  if (conn_ == nullptr || ngtcp2_conn_open_bidi_stream(conn_, &id, nullptr) != 0) return -1;
  streams_[id];
  return id;
}

int64_t QuicTestClient::open_unidirectional() {
  int64_t id = -1;
  if (conn_ == nullptr || ngtcp2_conn_open_uni_stream(conn_, &id, nullptr) != 0) return -1;
  return id;
}

void QuicTestClient::write(int64_t stream, Bytes bytes, bool end) {
  Outgoing& out = outgoing_[stream];
  if (!bytes.empty()) out.pieces.push_back(std::make_unique<std::string>(as_text(bytes)));
  out.end = out.end || end;
  wake();
}

void QuicTestClient::reset(int64_t stream, uint64_t code) {
  outgoing_[stream].dead = true;
  if (conn_ != nullptr) ngtcp2_conn_shutdown_stream_write(conn_, 0, stream, code);
  wake();
}

void QuicTestClient::stop_sending(int64_t stream, uint64_t code) {
  if (conn_ != nullptr) ngtcp2_conn_shutdown_stream_read(conn_, 0, stream, code);
  wake();
}

void QuicTestClient::extend_stream(int64_t id, uint64_t n) {
  if (conn_ != nullptr) ngtcp2_conn_extend_max_stream_offset(conn_, id, n);
  wake();
}

void QuicTestClient::extend_connection(uint64_t n) {
  if (conn_ != nullptr) ngtcp2_conn_extend_max_offset(conn_, n);
  wake();
}

void QuicTestClient::close(uint64_t code) {
  close_requested_ = code;
  wake();
}

// ---- datagrams ----------------------------------------------------------------------------------

void QuicTestClient::wake() { loop_.defer(flush_); }

void QuicTestClient::send_datagram(Bytes bytes) {
  const ssize_t n = sendto(fd_.get(), bytes.data(), bytes.size(), 0, options_.server.data(),
                           options_.server.size());
  ASSERT_EQ(n, static_cast<ssize_t>(bytes.size()));
}

void QuicTestClient::on_events(uint32_t) {
  std::array<uint8_t, 65536> buffer;
  for (int i = 0; i < 64; ++i) {
    const ssize_t n = recv(fd_.get(), buffer.data(), buffer.size(), 0);
    if (n < 0) break;
    ++datagrams_received_;
    receive({buffer.data(), static_cast<size_t>(n)});
  }
  wake();
}

void QuicTestClient::receive(Bytes bytes) {
  if (conn_ == nullptr || closed_) return;
  const ngtcp2_path* current = ngtcp2_conn_get_path(conn_);
  const ngtcp2_path path = *current;
  const ngtcp2_pkt_info info{};
  const int status =
      ngtcp2_conn_read_pkt(conn_, &path, &info, bytes.data(), bytes.size(), monotonic_now());
  if (status != 0) failed(status);
}

void QuicTestClient::failed(int error) {
  if (closed_) return;
  if (error == NGTCP2_ERR_DRAINING) {
    const ngtcp2_ccerr* e = ngtcp2_conn_get_ccerr(conn_);
    closed_ = Close{.application = e->type == NGTCP2_CCERR_TYPE_APPLICATION,
                    .code = e->error_code,
                    .reason = std::string(reinterpret_cast<const char*>(e->reason), e->reasonlen)};
  } else {
    closed_ = Close{.code = ngtcp2_err_infer_quic_transport_error_code(error),
                    .reason = ngtcp2_strerror(error)};
  }
  timer_.disarm();
}

void QuicTestClient::write_packets() {
  if (conn_ == nullptr || closed_) return;
  before_write();
  if (close_requested_) {
    write_close();
    return;
  }
  while (write_one()) {
  }
  ngtcp2_conn_update_pkt_tx_time(conn_, monotonic_now());
  arm();
}

// One packet; false when there is none to write.
bool QuicTestClient::write_one() {
  Datagram datagram(1452);
  ngtcp2_pkt_info info;
  ngtcp2_path_storage path;
  ngtcp2_path_storage_zero(&path);
  const ngtcp2_tstamp now = monotonic_now();
  for (;;) {
    int64_t id = -1;
    Outgoing* out = nullptr;
    for (auto& [stream, o] : outgoing_) {
      const bool some = o.piece < o.pieces.size();
      if (o.dead || o.blocked || (!some && !(o.end && !o.end_sent))) continue;
      if (some && ngtcp2_conn_get_max_data_left(conn_) == 0) continue;
      id = stream;
      out = &o;
      break;
    }
    ngtcp2_vec vector{};
    size_t count = 0;
    uint32_t flags = NGTCP2_WRITE_STREAM_FLAG_NONE;
    if (out != nullptr) {
      flags |= NGTCP2_WRITE_STREAM_FLAG_MORE;
      if (out->piece < out->pieces.size()) {
        std::string& piece = *out->pieces[out->piece];
        vector = {reinterpret_cast<uint8_t*>(piece.data()) + out->offset,
                  piece.size() - out->offset};
        count = 1;
      }
      if (out->end && out->piece + 1 >= out->pieces.size()) flags |= NGTCP2_WRITE_STREAM_FLAG_FIN;
    }
    ngtcp2_ssize taken = -1;
    const ngtcp2_ssize n =
        ngtcp2_conn_writev_stream(conn_, &path.path, &info, datagram.data(), datagram.size(),
                                  &taken, flags, id, &vector, count, now);
    if (taken >= 0 && out != nullptr) {
      out->offset += static_cast<size_t>(taken);
      const bool whole = static_cast<size_t>(taken) == vector.len;
      if (whole && (flags & NGTCP2_WRITE_STREAM_FLAG_FIN) != 0) out->end_sent = true;
      if (whole && count == 1) {
        ++out->piece;
        out->offset = 0;
      }
    }
    if (n == NGTCP2_ERR_WRITE_MORE) continue;
    if (n == NGTCP2_ERR_STREAM_DATA_BLOCKED) {
      out->blocked = true;
      continue;
    }
    if (n == NGTCP2_ERR_STREAM_SHUT_WR || n == NGTCP2_ERR_STREAM_NOT_FOUND) {
      out->dead = true;  // the pieces stay: what was sent may be sent again
      continue;
    }
    if (n < 0) {
      failed(static_cast<int>(n));
      return false;
    }
    if (n == 0) return false;
    datagram.resize(static_cast<size_t>(n));
    sent_.push_back(datagram);
    if (on_datagram) {
      on_datagram(datagram);
    } else {
      send_datagram(datagram);
    }
    return true;
  }
}

void QuicTestClient::write_close() {
  Datagram datagram(1452);
  ngtcp2_path_storage path;
  ngtcp2_path_storage_zero(&path);
  ngtcp2_pkt_info info;
  ngtcp2_ccerr error;
  ngtcp2_ccerr_set_application_error(&error, *close_requested_, nullptr, 0);
  const ngtcp2_ssize n = ngtcp2_conn_write_connection_close(
      conn_, &path.path, &info, datagram.data(), datagram.size(), &error, monotonic_now());
  if (n > 0) send_datagram({datagram.data(), static_cast<size_t>(n)});
  closed_ = Close{.application = true, .code = *close_requested_, .reason = "by the client"};
  timer_.disarm();
}

void QuicTestClient::arm() {
  if (conn_ == nullptr || closed_) return;
  const ngtcp2_tstamp when = ngtcp2_conn_get_expiry(conn_);
  if (when != UINT64_MAX) timer_.arm_at(loop_, when);
}

void QuicTestClient::on_timer() {
  if (conn_ == nullptr || closed_) return;
  const int status = ngtcp2_conn_handle_expiry(conn_, monotonic_now());
  if (status != 0) {
    failed(status);
    return;
  }
  write_packets();
}

}  // namespace pqedge::wire_test
