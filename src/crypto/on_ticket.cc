#include "crypto/on_ticket.h"

#include <openssl/core_names.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "crypto/callbacks.h"
#include "crypto/early_data.h"
#include "crypto/ticket_cipher.h"
#include "crypto/ticket_encapsulation.h"

namespace pqedge::crypto {
namespace {

constexpr int kTicketError = -1;
constexpr int kTicketUnknown = 0;  // a full handshake
constexpr int kTicketGood = 1;
constexpr int kTicketRenew = 2;

constexpr size_t kNameSize = 16;
// The first bit of a ticket's key name: sealed under an encapsulation of its own.
constexpr uint8_t kEncapsulated = 0x80;

bool set_ticket_mac(EVP_MAC_CTX* mac, const TicketKey& key) {
  char digest[] = "SHA256";
  const OSSL_PARAM params[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_end(),
  };
  return EVP_MAC_init(mac, key.mac.data(), key.mac.size(), params) == 1;
}

// Of the names of two tickets and their nonces no two are the same: the nonce is random, and both
// are authentic once the ticket was opened.
ReplayStore::Id ticket_id(const unsigned char* name, const unsigned char* iv) {
  ReplayStore::Id id;
  std::copy_n(iv, kTicketNonceSize, id.begin());
  std::copy_n(name + 1, id.size() - kTicketNonceSize, id.begin() + kTicketNonceSize);
  return id;
}

bool start_cipher(EVP_CIPHER_CTX* cipher, const TicketKey& key, EVP_PKEY* kem,
                  const unsigned char* iv, bool seal) {
  const auto start = [&](const OSSL_PARAM* params) {
    return seal ? EVP_EncryptInit_ex2(cipher, ticket_cipher(), key.key.data(), iv, params)
                : EVP_DecryptInit_ex2(cipher, ticket_cipher(), key.key.data(), iv, params);
  };
  if (kem == nullptr) return start(nullptr) == 1;
  const TicketKemParameters parameters(kem);
  return start(parameters.get()) == 1;
}

int seal_ticket(const Policy& policy, unsigned char* name, unsigned char* iv,
                EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac) {
  TicketKeyRing& ring = *policy.tickets;
  TicketKey key = ring.current(ring.now());
  const bool encapsulated = policy.settings.ticket_encapsulation;
  const KemKey kem = encapsulated ? ring.kem(key.name.data()) : nullptr;
  std::memcpy(name, key.name.data(), kNameSize);
  if (encapsulated) name[0] |= kEncapsulated;
  const bool ok = (!encapsulated || kem != nullptr) &&
                  RAND_bytes(iv, EVP_CIPHER_get_iv_length(ticket_cipher())) == 1 &&
                  start_cipher(cipher, key, kem.get(), iv, true) && set_ticket_mac(mac, key);
  forget(key);
  return ok ? kTicketGood : kTicketError;
}

int open_ticket(SSL* ssl, TicketKeyRing& ring, const unsigned char* name, const unsigned char* iv,
                EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac) {
  std::array<uint8_t, kNameSize> key_name;
  std::copy_n(name, kNameSize, key_name.begin());
  key_name[0] &= static_cast<uint8_t>(~kEncapsulated);
  auto found = ring.find(key_name.data(), ring.now());
  if (!found) return kTicketUnknown;
  const bool encapsulated = (name[0] & kEncapsulated) != 0;
  const KemKey kem = encapsulated ? ring.kem(key_name.data()) : nullptr;
  if (encapsulated && kem == nullptr) {  // the key went at this moment
    forget(found->key);
    return kTicketUnknown;
  }
  const bool ok =
      start_cipher(cipher, found->key, kem.get(), iv, false) && set_ticket_mac(mac, found->key);
  forget(found->key);
  if (!ok) return kTicketError;
  if (SessionState* state = session_of(ssl); state != nullptr) {
    state->ticket_id = ticket_id(name, iv);
    state->ticket_opened = true;
  }
  // A TLS 1.3 client uses a ticket once (RFC 8446 C.4): it gets another with each resumption.
  return found->renew || SSL_version(ssl) >= TLS1_3_VERSION ? kTicketRenew : kTicketGood;
}

}  // namespace

int on_ticket(SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
              EVP_MAC_CTX* mac, int seal) {
  const Policy* policy = policy_of(ssl);
  if (policy == nullptr) return kTicketError;
  return seal != 0 ? seal_ticket(*policy, name, iv, cipher, mac)
                   : open_ticket(ssl, *policy->tickets, name, iv, cipher, mac);
}

int on_new_ticket(SSL* ssl, void*) {
  const Policy* policy = policy_of(ssl);
  SSL_SESSION* session = SSL_get_session(ssl);
  if (policy == nullptr || session == nullptr) return 0;
  std::array<uint8_t, kMaxTicketData> data;
  size_t size = 0;
  data[size++] = kTicketDataVersion;
  if (policy->settings.early_data.on) {
    const EarlyDataMark mark = early_data_mark(ssl, *policy);
    std::ranges::copy(mark, data.begin() + size);
    size += mark.size();
  }
  if (policy->settings.ticket_encapsulation) {
    const auto& placeholder = ticket_placeholder();
    std::ranges::copy(placeholder, data.begin() + size);
    size += placeholder.size();
  }
  // What a resumed session brought along is replaced, and taken away where nothing is to be
  // carried.
  return SSL_SESSION_set1_ticket_appdata(session, data.data(), size == 1 ? 0 : size);
}

}  // namespace pqedge::crypto
