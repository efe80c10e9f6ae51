#include "measure/chain/quic_peer.h"

#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/rand.h>

#include <array>
#include <cstdlib>

#include "wire/quic/tls_session.h"

namespace pqedge::measure {
namespace {

constexpr size_t kIdLength = 8;  // of connection IDs; RFC 9000 7.2 asks a client for 8 at least
constexpr size_t kMaxDatagram = 65'527;

ngtcp2_cid random_id() {
  ngtcp2_cid id{};
  id.datalen = kIdLength;
  RAND_bytes(id.data, kIdLength);
  return id;
}

void random_bytes(uint8_t* to, size_t size, const ngtcp2_rand_ctx*) {
  if (RAND_bytes(to, static_cast<int>(size)) != 1) std::abort();
}

int new_connection_id(ngtcp2_conn*, ngtcp2_cid* id, ngtcp2_stateless_reset_token* token,
                      size_t length, void*) {
  id->datalen = length;
  RAND_bytes(id->data, static_cast<int>(length));
  RAND_bytes(token->data, sizeof token->data);
  return 0;
}

int take_crypto(ngtcp2_conn* connection, ngtcp2_encryption_level level, uint64_t offset,
                const uint8_t* data, size_t size, void* user) {
  crypto::clear_errors();
  return ngtcp2_crypto_recv_crypto_data_cb(connection, level, offset, data, size, user);
}

// Addresses mean nothing here, but a path has two.
sockaddr_in address(bool server) {
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_port = htons(server ? 443 : 50'000);
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return a;
}

}  // namespace

const ngtcp2_callbacks& QuicPeer::callbacks() {
  static const ngtcp2_callbacks table = [] {
    ngtcp2_callbacks c{};
    c.client_initial = ngtcp2_crypto_client_initial_cb;
    c.recv_client_initial = ngtcp2_crypto_recv_client_initial_cb;
    c.recv_crypto_data = take_crypto;
    c.encrypt = ngtcp2_crypto_encrypt_cb;
    c.decrypt = ngtcp2_crypto_decrypt_cb;
    c.hp_mask = ngtcp2_crypto_hp_mask_cb;
    c.recv_retry = ngtcp2_crypto_recv_retry_cb;
    c.update_key = ngtcp2_crypto_update_key_cb;
    c.delete_crypto_aead_ctx = ngtcp2_crypto_delete_crypto_aead_ctx_cb;
    c.delete_crypto_cipher_ctx = ngtcp2_crypto_delete_crypto_cipher_ctx_cb;
    c.get_path_challenge_data2 = ngtcp2_crypto_get_path_challenge_data2_cb;
    c.version_negotiation = ngtcp2_crypto_version_negotiation_cb;
    c.rand = random_bytes;
    c.get_new_connection_id2 = new_connection_id;
    return c;
  }();
  return table;
}

ngtcp2_conn* QuicPeer::connection_of(ngtcp2_crypto_conn_ref* reference) {
  return static_cast<QuicPeer*>(reference->user_data)->connection_.get();
}

QuicPeer::~QuicPeer() {
  connection_.reset();
  crypto_.reset();
  // SSL_free() may call back into ngtcp2, whose connection is gone by then.
  if (ssl_ != nullptr) SSL_set_app_data(ssl_.get(), nullptr);
}

Result<void> QuicPeer::attach(bool server) {
  is_server_ = server;
  if (auto ready = quic::initialise_tls(); !ready) return ready;
  crypto::clear_errors();
  reference_ = {&QuicPeer::connection_of, this};
  SSL_set_app_data(ssl_.get(), &reference_);
  const int status = server ? ngtcp2_crypto_ossl_configure_server_session(ssl_.get())
                            : ngtcp2_crypto_ossl_configure_client_session(ssl_.get());
  ngtcp2_crypto_ossl_ctx* context = nullptr;
  if (status != 0 || ngtcp2_crypto_ossl_ctx_new(&context, ssl_.get()) != 0) {
    return fail("cannot make a TLS session for QUIC: {}", crypto::take_openssl_error());
  }
  crypto_.reset(context);
  return {};
}

ngtcp2_settings QuicPeer::settings(Nanos now) const {
  ngtcp2_settings s;
  ngtcp2_settings_default(&s);
  s.initial_ts = static_cast<ngtcp2_tstamp>(now);
  s.max_tx_udp_payload_size = datagram_;
  s.no_tx_udp_payload_size_shaping = 1;
  s.no_pmtud = 1;
  return s;
}

ngtcp2_transport_params QuicPeer::parameters() const {
  ngtcp2_transport_params p;
  ngtcp2_transport_params_default(&p);
  p.initial_max_data = 1024 * 1024;
  p.initial_max_stream_data_bidi_local = 256 * 1024;
  p.initial_max_stream_data_bidi_remote = 256 * 1024;
  p.initial_max_stream_data_uni = 256 * 1024;
  p.initial_max_streams_bidi = 100;
  p.initial_max_streams_uni = 3;
  p.max_idle_timeout = 30 * kSecond;
  return p;
}

ngtcp2_path QuicPeer::path() const {
  static thread_local sockaddr_in own;
  static thread_local sockaddr_in peer;
  own = address(is_server_);
  peer = address(!is_server_);
  ngtcp2_path p{};
  p.local = {reinterpret_cast<sockaddr*>(&own), sizeof own};
  p.remote = {reinterpret_cast<sockaddr*>(&peer), sizeof peer};
  return p;
}

Result<std::unique_ptr<QuicPeer>> QuicPeer::client(crypto::SslPtr ssl, size_t datagram, Nanos now) {
  std::unique_ptr<QuicPeer> made(new QuicPeer(std::move(ssl), datagram));
  if (auto attached = made->attach(false); !attached) return std::unexpected(attached.error());
  const ngtcp2_settings settings = made->settings(now);
  const ngtcp2_transport_params parameters = made->parameters();
  const ngtcp2_cid server_id = random_id();
  const ngtcp2_cid own_id = random_id();
  const ngtcp2_path path = made->path();
  ngtcp2_conn* connection = nullptr;
  const int error =
      ngtcp2_conn_client_new(&connection, &server_id, &own_id, &path, NGTCP2_PROTO_VER_V1,
                             &callbacks(), &settings, &parameters, nullptr, made.get());
  if (error != 0) return fail("cannot make a QUIC client: {}", ngtcp2_strerror(error));
  made->connection_.reset(connection);
  ngtcp2_conn_set_tls_native_handle(connection, made->crypto_.get());
  return made;
}

Result<std::unique_ptr<QuicPeer>> QuicPeer::server(crypto::SslPtr ssl, size_t datagram, Nanos now,
                                                   Bytes first) {
  ngtcp2_pkt_hd header;
  if (ngtcp2_accept(&header, first.data(), first.size()) != 0) {
    return fail("the client's first datagram is no QUIC Initial");
  }
  std::unique_ptr<QuicPeer> made(new QuicPeer(std::move(ssl), datagram));
  if (auto attached = made->attach(true); !attached) return std::unexpected(attached.error());
  const ngtcp2_settings settings = made->settings(now);
  ngtcp2_transport_params parameters = made->parameters();
  parameters.original_dcid = header.dcid;
  parameters.original_dcid_present = 1;
  const ngtcp2_cid own_id = random_id();
  const ngtcp2_path path = made->path();
  ngtcp2_conn* connection = nullptr;
  const int error =
      ngtcp2_conn_server_new(&connection, &header.scid, &own_id, &path, header.version,
                             &callbacks(), &settings, &parameters, nullptr, made.get());
  if (error != 0) return fail("cannot make a QUIC server: {}", ngtcp2_strerror(error));
  made->connection_.reset(connection);
  ngtcp2_conn_set_tls_native_handle(connection, made->crypto_.get());
  return made;
}

Result<void> QuicPeer::broken(const char* what, int error) const {
  const char* who = is_server_ ? "server" : "client";
  if (error == NGTCP2_ERR_CRYPTO) {
    return fail("the QUIC {} ended the handshake while {}: TLS alert {}", who, what,
                ngtcp2_conn_get_tls_alert(connection_.get()));
  }
  return fail("the QUIC {} failed while {}: {}", who, what, ngtcp2_strerror(error));
}

Result<void> QuicPeer::read(const std::vector<Datagram>& datagrams, Nanos now) {
  const ngtcp2_path p = path();
  const ngtcp2_pkt_info info{};
  for (const Datagram& datagram : datagrams) {
    const int error = ngtcp2_conn_read_pkt(connection_.get(), &p, &info, datagram.data(),
                                           datagram.size(), static_cast<ngtcp2_tstamp>(now));
    if (error != 0) return broken("reading", error);
  }
  return {};
}

Result<std::vector<Datagram>> QuicPeer::write(Nanos now) {
  std::vector<Datagram> out;
  static thread_local std::array<uint8_t, kMaxDatagram> buffer;
  for (;;) {
    ngtcp2_path_storage storage;
    ngtcp2_path_storage_zero(&storage);
    ngtcp2_pkt_info info{};
    // ngtcp2_conn_update_pkt_tx_time() is never called: so nothing is paced.
    const ngtcp2_ssize size =
        ngtcp2_conn_write_pkt(connection_.get(), &storage.path, &info, buffer.data(), datagram_,
                              static_cast<ngtcp2_tstamp>(now));
    if (size < 0) {
      auto error = broken("writing", static_cast<int>(size));
      return std::unexpected(error.error());
    }
    if (size == 0) return out;
    out.emplace_back(buffer.begin(), buffer.begin() + size);
  }
}

Result<void> QuicPeer::expire(Nanos now) {
  const int error = ngtcp2_conn_handle_expiry(connection_.get(), static_cast<ngtcp2_tstamp>(now));
  return error == 0 ? Result<void>() : broken("waiting", error);
}

}  // namespace pqedge::measure
