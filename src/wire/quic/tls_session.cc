#include "wire/quic/tls_session.h"

#include <openssl/err.h>

#include <array>
#include <vector>

#include "base/memory.h"
#include "crypto/early_data.h"
#include "crypto/handshake_step.h"
#include "crypto/providers.h"

namespace pqedge::quic {
namespace {

// RFC 9000 18: ours take less than half of it.
constexpr size_t kMaxParameters = 512;

}  // namespace

Result<void> initialise_tls() {
  // It fetches HKDF and the ciphers, once.
  static const int status = [] {
    int result = -1;
    crypto::with_tls_properties([&] { result = ngtcp2_crypto_ossl_init(); });
    return result;
  }();
  if (status != 0) return fail("cannot initialise the QUIC cryptography (ngtcp2_crypto_ossl_init)");
  return {};
}

// What is with the signing thread. `session` is for the worker's thread alone; null: it is gone.
// The SSL goes first: it points to the rest.
struct TlsSession::Away {
  TlsSession* session;
  std::shared_ptr<std::atomic<bool>> dropped;
  TlsCallRecorder recorder;
  std::array<uint8_t, kMaxParameters> parameters;
  std::unique_ptr<crypto::HandshakeStep> step;
};

Result<void> TlsSession::start(net::Loop& loop, std::shared_ptr<crypto::ServerContexts> contexts,
                               crypto::SessionState& state, ngtcp2_conn** conn, Owner& owner) {
  // An error left in the queue would make the next call on this thread fail oddly.
  ERR_clear_error();
  contexts_ = std::move(contexts);
  state_ = &state;
  conn_ = conn;
  owner_ = &owner;
  pause_.set(loop, *this);
  state.pause = &pause_;
  ssl_.reset(SSL_new(contexts_->quic()));
  if (ssl_ == nullptr) return fail("cannot make a TLS session for QUIC");
  SSL* ssl = ssl_.get();
  set_tls_calls(ssl, this);
  crypto::attach_session(ssl, &state);
  if (!install_tls_calls(ssl)) return fail("cannot configure a TLS session for QUIC");
  SSL_set_accept_state(ssl);
  // Whether early data is taken is decided when it is offered (crypto/early_data.h).
  if (SSL_set_quic_tls_early_data_enabled(ssl, contexts_->settings().early_data.on ? 1 : 0) != 1) {
    return fail("cannot set a TLS session for QUIC up for early data");
  }
  memory::insist([&] { return ngtcp2_crypto_ossl_ctx_new(&context_, ssl) == 0; });
  return {};
}

void TlsSession::reset() {
  pause_.forget();
  if (away_ != nullptr) {
    away_->session = nullptr;
    away_->dropped->store(true, std::memory_order_relaxed);
    away_ = nullptr;
  }
  if (ssl_ != nullptr) {
    // SSL_free may call back, when the connection is gone already.
    set_tls_calls(ssl_.get(), nullptr);
    ssl_ = nullptr;
  }
  if (context_ != nullptr) {
    ngtcp2_crypto_ossl_ctx_del(context_);
    context_ = nullptr;
  }
}

// ---- the handshake ---------------------------------------------------------------------------

int TlsSession::receive(Bytes bytes) {
  if (bytes.empty()) return 0;
  if (paused_) {
    // The client has said all that it can say before it hears from us.
    ngtcp2_conn_set_tls_alert(*conn_, SSL_AD_UNEXPECTED_MESSAGE);
    return NGTCP2_ERR_CRYPTO;
  }
  incoming_.push(bytes);
  return advance();
}

int TlsSession::advance() {
  SSL* ssl = ssl_.get();
  // A packet that could not be decrypted may have left an error, which TLS would take for its own.
  ERR_clear_error();
  if (ngtcp2_conn_get_handshake_completed(*conn_) == 0) {
    const int result = crypto::do_handshake(ssl);
    if (result <= 0) {
      switch (SSL_get_error(ssl, result)) {
        case SSL_ERROR_WANT_READ:
        case SSL_ERROR_WANT_WRITE: return 0;
        case SSL_ERROR_WANT_X509_LOOKUP: return pause();
        default: return failure();
      }
    }
    ngtcp2_conn_tls_handshake_completed(*conn_);
  }
  // Messages after the handshake: a client may send none, and this says so.
  const int result = SSL_read(ssl, nullptr, 0);
  if (result == 1) return 0;
  const int error = SSL_get_error(ssl, result);
  return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? 0 : failure();
}

int TlsSession::failure() const {
  const int error = ngtcp2_conn_get_tls_error(*conn_);
  return error != 0 ? error : NGTCP2_ERR_CRYPTO;
}

int TlsSession::pause() {
  paused_ = true;
  return state_->signing == crypto::Signing::wanted ? hand_over() : 0;
}

// The transport parameters go into the step's EncryptedExtensions: ngtcp2 would complete them and
// give them when it is told of the handshake's keys, which is only when the step is done.
ngtcp2_ssize TlsSession::encode_parameters(std::span<uint8_t> into) const {
  ngtcp2_transport_params parameters = *ngtcp2_conn_get_local_transport_params(*conn_);
  std::vector<ngtcp2_cid> ids(ngtcp2_conn_get_scid(*conn_, nullptr));
  if (ids.empty()) return NGTCP2_ERR_INTERNAL;
  ngtcp2_conn_get_scid(*conn_, ids.data());
  parameters.initial_scid = ids.front();  // RFC 9000 7.3; there is but this one so far
  parameters.initial_scid_present = 1;
  return ngtcp2_transport_params_encode(into.data(), into.size(), &parameters);
}

int TlsSession::hand_over() {
  SSL* ssl = ssl_.get();
  auto away = std::make_shared<Away>();
  const ngtcp2_ssize size = encode_parameters(away->parameters);
  if (size < 0 || SSL_set_quic_tls_transport_params(ssl, away->parameters.data(),
                                                    static_cast<size_t>(size)) != 1) {
    return NGTCP2_ERR_CALLBACK_FAILURE;
  }
  away->session = this;
  away->dropped = std::make_shared<std::atomic<bool>>(false);
  away->recorder.set_incoming(std::move(incoming_));
  incoming_ = {};
  set_tls_calls(ssl, &away->recorder);
  crypto::SlowSigner::Task task;
  task.loop = pause_.loop();
  task.dropped = away->dropped;
  task.place = std::move(state_->place);
  away->step = std::make_unique<crypto::HandshakeStep>(std::move(ssl_), *state_, contexts_);
  task.run = [away] { away->step->run(); };
  task.finished = [away](bool ran) {
    if (away->session != nullptr) away->session->take_back(ran);
  };
  away_ = std::move(away);
  crypto::submit_step(ssl, std::move(task));
  return 0;
}

void TlsSession::take_back(bool ran) {
  const std::shared_ptr<Away> away = std::move(away_);
  away_ = nullptr;
  paused_ = false;
  ssl_ = away->step->take(*state_, ran);
  incoming_ = away->recorder.take_incoming();
  set_tls_calls(ssl_.get(), this);
  int status = 0;
  replaying_ = true;
  if (ran && (!away->recorder.replay(*this) || away->step->error() != SSL_ERROR_WANT_READ)) {
    status = failure();
  }
  replaying_ = false;
  owner_->handshake_went_on(status != 0 ? status : advance());
}

void TlsSession::resume_handshake() {
  state_->requested = 2;
  if (!paused_ || away_ != nullptr) return;
  paused_ = false;
  owner_->handshake_went_on(advance());
}

// ---- what OpenSSL asks for -------------------------------------------------------------------

bool TlsSession::send(Bytes bytes) {
  handshake_bytes_ += bytes.size();
  const int status =
      ngtcp2_conn_submit_crypto_data(*conn_, write_level_, bytes.data(), bytes.size());
  if (status == 0) return true;
  ngtcp2_conn_set_tls_error(*conn_, status);
  return false;
}

// ngtcp2 gives OpenSSL the transport parameters with these keys. They have left already, and
// OpenSSL takes them no more: another SSL does.
bool TlsSession::late_handshake_secret(Bytes secret) {
  ngtcp2_crypto_ctx suite;
  if (ngtcp2_crypto_ctx_tls(&suite, context_) == nullptr) return false;
  ngtcp2_conn_set_crypto_ctx(*conn_, &suite);
  const crypto::SslPtr stand_in(SSL_new(contexts_->quic()));
  if (stand_in == nullptr || !install_tls_calls(stand_in.get())) return false;
  ngtcp2_crypto_ossl_ctx_set_ssl(context_, stand_in.get());
  const int status = ngtcp2_crypto_derive_and_install_tx_key(*conn_, nullptr, nullptr, nullptr,
                                                             NGTCP2_ENCRYPTION_LEVEL_HANDSHAKE,
                                                             secret.data(), secret.size());
  ngtcp2_crypto_ossl_ctx_set_ssl(context_, ssl_.get());
  write_level_ = NGTCP2_ENCRYPTION_LEVEL_HANDSHAKE;
  return status == 0;
}

bool TlsSession::secret(ngtcp2_encryption_level level, bool writing, Bytes secret) {
  if (replaying_ && writing && level == NGTCP2_ENCRYPTION_LEVEL_HANDSHAKE) {
    return late_handshake_secret(secret);
  }
  if (!writing) {
    return ngtcp2_crypto_derive_and_install_rx_key(*conn_, nullptr, nullptr, nullptr, level,
                                                   secret.data(), secret.size()) == 0;
  }
  // ngtcp2 takes for granted that they are there when it may send 1-RTT packets, and ends the
  // process when they are not.
  if (level == NGTCP2_ENCRYPTION_LEVEL_1RTT &&
      ngtcp2_conn_get_remote_transport_params(*conn_) == nullptr) {
    ngtcp2_conn_set_tls_error(*conn_, NGTCP2_ERR_REQUIRED_TRANSPORT_PARAM);
    return false;
  }
  if (ngtcp2_crypto_derive_and_install_tx_key(*conn_, nullptr, nullptr, nullptr, level,
                                              secret.data(), secret.size()) != 0) {
    return false;
  }
  write_level_ = level;
  return true;
}

bool TlsSession::peer_parameters(Bytes parameters) {
  const int status = ngtcp2_conn_decode_and_set_remote_transport_params(*conn_, parameters.data(),
                                                                        parameters.size());
  if (status == 0) return true;
  ngtcp2_conn_set_tls_error(*conn_, status);
  return false;
}

void TlsSession::alert(uint8_t code) {
  // Before the version is settled OpenSSL has another name for this one, of TLS 1.2 (RFC 9001 8.2).
  if (state_->hello == crypto::HelloVerdict::no_parameters) code = SSL_AD_MISSING_EXTENSION;
  ngtcp2_conn_set_tls_alert(*conn_, code);
}

}  // namespace pqedge::quic
