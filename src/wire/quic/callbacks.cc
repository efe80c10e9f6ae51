#include "wire/quic/callbacks.h"

#include <ngtcp2/ngtcp2_crypto.h>
#include <openssl/rand.h>

#include <cstdlib>
#include <cstring>

#include "wire/quic/connection.h"
#include "wire/quic/counters.h"
#include "wire/quic/endpoint.h"
#include "wire/quic/path.h"

namespace pqedge::quic {
namespace {

Connection& self(void* user_data) {
  return static_cast<Connection&>(*static_cast<Streams*>(user_data));
}

void random_bytes(uint8_t* dest, size_t size, const ngtcp2_rand_ctx*) {
  if (RAND_bytes(dest, static_cast<int>(size)) != 1) std::abort();
}

}  // namespace

const ngtcp2_callbacks& Callbacks::table() {
  static const ngtcp2_callbacks callbacks = [] {
    ngtcp2_callbacks c{};
    c.recv_client_initial = ngtcp2_crypto_recv_client_initial_cb;
    c.recv_crypto_data = [](ngtcp2_conn*, ngtcp2_encryption_level, uint64_t, const uint8_t* data,
                            size_t size,
                            void* user) { return self(user).tls_.receive({data, size}); };
    c.encrypt = ngtcp2_crypto_encrypt_cb;
    c.decrypt = ngtcp2_crypto_decrypt_cb;
    c.hp_mask = ngtcp2_crypto_hp_mask_cb;
    c.update_key = ngtcp2_crypto_update_key_cb;
    c.delete_crypto_aead_ctx = ngtcp2_crypto_delete_crypto_aead_ctx_cb;
    c.delete_crypto_cipher_ctx = ngtcp2_crypto_delete_crypto_cipher_ctx_cb;
    c.get_path_challenge_data2 = ngtcp2_crypto_get_path_challenge_data2_cb;
    c.version_negotiation = ngtcp2_crypto_version_negotiation_cb;
    c.rand = random_bytes;

    c.handshake_completed = [](ngtcp2_conn*, void* user) {
      self(user).handshake_completed();
      return 0;
    };
    c.get_new_connection_id2 = [](ngtcp2_conn*, ngtcp2_cid* id, ngtcp2_stateless_reset_token* token,
                                  size_t, void* user) {
      Connection& c2 = self(user);
      const Endpoint::Options& options = c2.endpoint_.options_;
      const ConnectionId made = options.keys->make_id(options.self, kServerId);
      ngtcp2_cid_init(id, made.data(), made.size());
      const auto reset = options.keys->reset_token(made);
      std::memcpy(token->data, reset.data(), reset.size());
      return c2.register_id(*id) ? 0 : NGTCP2_ERR_CALLBACK_FAILURE;
    };
    c.remove_connection_id = [](ngtcp2_conn*, const ngtcp2_cid* id, void* user) {
      self(user).unregister_id(*id);
      return 0;
    };
    c.path_validation = [](ngtcp2_conn*, uint32_t, const ngtcp2_path*, const ngtcp2_path*,
                           ngtcp2_path_validation_result result, void*) {
      if (result == NGTCP2_PATH_VALIDATION_RESULT_SUCCESS) counters::migrations.add();
      return 0;
    };
    Connection::set_stream_callbacks(c);
    return c;
  }();
  return callbacks;
}

}  // namespace pqedge::quic
