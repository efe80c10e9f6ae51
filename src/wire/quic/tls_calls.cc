#include "wire/quic/tls_calls.h"

#include <ngtcp2/ngtcp2_crypto.h>
#include <ngtcp2/ngtcp2_crypto_ossl.h>
#include <openssl/core_dispatch.h>
#include <openssl/crypto.h>

#include <utility>

#include "base/text.h"

namespace pqedge::quic {
namespace {

TlsCalls* calls_of(SSL* ssl) { return static_cast<TlsCalls*>(SSL_get_app_data(ssl)); }

int on_send(SSL* ssl, const unsigned char* data, size_t size, size_t* consumed, void*) {
  TlsCalls* calls = calls_of(ssl);
  if (calls != nullptr && !calls->send({data, size})) return 0;
  *consumed = size;
  return 1;
}

int on_receive(SSL* ssl, const unsigned char** data, size_t* size, void*) {
  TlsCalls* calls = calls_of(ssl);
  const Bytes bytes = calls == nullptr ? Bytes() : calls->receive();
  *data = bytes.data();
  *size = bytes.size();
  return 1;
}

int on_release(SSL* ssl, size_t size, void*) {
  if (TlsCalls* calls = calls_of(ssl)) calls->release(size);
  return 1;
}

int on_secret(SSL* ssl, uint32_t level, int direction, const unsigned char* secret, size_t size,
              void*) {
  TlsCalls* calls = calls_of(ssl);
  return calls == nullptr || calls->secret(ngtcp2_crypto_ossl_from_ossl_encryption_level(level),
                                           direction != 0, {secret, size})
             ? 1
             : 0;
}

int on_parameters(SSL* ssl, const unsigned char* parameters, size_t size, void*) {
  TlsCalls* calls = calls_of(ssl);
  return calls == nullptr || calls->peer_parameters({parameters, size}) ? 1 : 0;
}

int on_alert(SSL* ssl, unsigned char code, void*) {
  if (TlsCalls* calls = calls_of(ssl)) calls->alert(code);
  return 1;
}

template <typename Function>
void (*generic(Function* function))() {
  return reinterpret_cast<void (*)()>(function);
}

}  // namespace

bool install_tls_calls(SSL* ssl) {
  static const OSSL_DISPATCH table[] = {
      {OSSL_FUNC_SSL_QUIC_TLS_CRYPTO_SEND, generic(on_send)},
      {OSSL_FUNC_SSL_QUIC_TLS_CRYPTO_RECV_RCD, generic(on_receive)},
      {OSSL_FUNC_SSL_QUIC_TLS_CRYPTO_RELEASE_RCD, generic(on_release)},
      {OSSL_FUNC_SSL_QUIC_TLS_YIELD_SECRET, generic(on_secret)},
      {OSSL_FUNC_SSL_QUIC_TLS_GOT_TRANSPORT_PARAMS, generic(on_parameters)},
      {OSSL_FUNC_SSL_QUIC_TLS_ALERT, generic(on_alert)},
      OSSL_DISPATCH_END,
  };
  return SSL_set_quic_tls_cbs(ssl, table, nullptr) == 1;
}

void set_tls_calls(SSL* ssl, TlsCalls* calls) { SSL_set_app_data(ssl, calls); }

// ---- what the peer sent ------------------------------------------------------------------------

void IncomingCrypto::push(Bytes bytes) {
  if (!bytes.empty()) blocks_.emplace_back(as_text(bytes));
}

Bytes IncomingCrypto::next() {
  return handed_out_ == blocks_.size() ? Bytes() : as_bytes(blocks_[handed_out_++]);
}

void IncomingCrypto::release(size_t size) {
  released_ += size;
  while (handed_out_ > 0 && released_ >= blocks_.front().size()) {
    released_ -= blocks_.front().size();
    blocks_.pop_front();
    --handed_out_;
  }
}

// ---- writing down ------------------------------------------------------------------------------

TlsCallRecorder::~TlsCallRecorder() {
  for (Call& call : calls_) {
    if (call.kind == Kind::secret) OPENSSL_cleanse(call.bytes.data(), call.bytes.size());
  }
}

bool TlsCallRecorder::send(Bytes bytes) {
  calls_.push_back({.kind = Kind::send, .bytes = std::string(as_text(bytes))});
  return true;
}

bool TlsCallRecorder::secret(ngtcp2_encryption_level level, bool writing, Bytes secret) {
  calls_.push_back({.kind = Kind::secret,
                    .writing = writing,
                    .level = level,
                    .bytes = std::string(as_text(secret))});
  return true;
}

bool TlsCallRecorder::peer_parameters(Bytes parameters) {
  calls_.push_back({.kind = Kind::parameters, .bytes = std::string(as_text(parameters))});
  return true;
}

void TlsCallRecorder::alert(uint8_t code) {
  calls_.push_back({.kind = Kind::alert, .code = code, .bytes = {}});
}

bool TlsCallRecorder::replay(TlsCalls& real) const {
  for (const Call& call : calls_) {
    bool done = true;
    switch (call.kind) {
      case Kind::send: done = real.send(as_bytes(call.bytes)); break;
      case Kind::secret: done = real.secret(call.level, call.writing, as_bytes(call.bytes)); break;
      case Kind::parameters: done = real.peer_parameters(as_bytes(call.bytes)); break;
      case Kind::alert: real.alert(call.code); break;
    }
    if (!done) return false;
  }
  return true;
}

}  // namespace pqedge::quic
