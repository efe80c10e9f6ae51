#include "crypto/ticket_cipher.h"

#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/params.h>
#include <openssl/provider.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "crypto/handles.h"
#include "crypto/ticket_encapsulation.h"

namespace pqedge::crypto {
namespace {

constexpr const char* kProvider = "pqedge";
constexpr const char* kName = "PQEDGE-TICKET-AES-256-GCM";
constexpr const char* kKemParameter = "pqedge-ticket-kem";

using CipherContextPtr = std::unique_ptr<EVP_CIPHER_CTX, FreeWith<EVP_CIPHER_CTX_free>>;

const EVP_CIPHER* gcm() {
  static const CipherPtr cipher(EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr));
  return cipher.get();
}

struct Sealer {
  CipherContextPtr gcm{EVP_CIPHER_CTX_new()};
  bool sealing = true;
  // Opening: the last bytes that came, which may be the tag.
  std::array<uint8_t, kTicketTagSize> held{};
  size_t held_size = 0;

  std::unique_ptr<TicketEncapsulation> encapsulation;  // when there is one in the ticket

  ~Sealer() { OPENSSL_cleanse(held.data(), held.size()); }
};

Sealer& self(void* context) { return *static_cast<Sealer*>(context); }

// Null in `key` when the parameters name none. False: they cannot be read.
bool find_kem(const OSSL_PARAM* params, EVP_PKEY*& key) {
  key = nullptr;
  const OSSL_PARAM* p =
      params == nullptr ? nullptr : OSSL_PARAM_locate_const(params, kKemParameter);
  if (p == nullptr) return true;
  const void* value = nullptr;
  size_t size = 0;
  if (OSSL_PARAM_get_octet_ptr(p, &value, &size) != 1 || value == nullptr) return false;
  key = static_cast<EVP_PKEY*>(const_cast<void*>(value));
  return true;
}

int init(void* context, bool sealing, const uint8_t* key, size_t key_size, const uint8_t* nonce,
         size_t nonce_size, const OSSL_PARAM* params) {
  Sealer& s = self(context);
  s.sealing = sealing;
  s.held_size = 0;
  s.encapsulation.reset();
  EVP_PKEY* kem = nullptr;
  if (!find_kem(params, kem)) return 0;
  if ((key != nullptr && key_size != kTicketKeySize) ||
      (nonce != nullptr && nonce_size != kTicketNonceSize)) {
    return 0;
  }
  if (kem != nullptr) {
    if (key == nullptr || nonce == nullptr) return 0;
    s.encapsulation = std::make_unique<TicketEncapsulation>(kem, key, nonce);
    return 1;
  }
  return EVP_CipherInit_ex2(s.gcm.get(), gcm(), key, nonce, sealing ? 1 : 0, nullptr);
}

// ---- plain -----------------------------------------------------------------------------------

bool pass(Sealer& s, uint8_t*& out, const uint8_t* in, size_t size) {
  int written = 0;
  if (size == 0) return true;
  if (EVP_CipherUpdate(s.gcm.get(), out, &written, in, static_cast<int>(size)) != 1) return false;
  out += written;
  return true;
}

int update(void* context, unsigned char* out, size_t* out_size, size_t room,
           const unsigned char* in, size_t size) {
  Sealer& s = self(context);
  unsigned char* const begin = out;
  *out_size = 0;
  if (size > INT32_MAX || room < size) return 0;
  if (s.encapsulation != nullptr) {
    const bool done = s.sealing ? s.encapsulation->seal({in, size}, {out, room}, *out_size)
                                : s.encapsulation->open({in, size}, {out, room}, *out_size);
    return done ? 1 : 0;
  }
  if (s.sealing) {
    if (!pass(s, out, in, size)) return 0;
    *out_size = static_cast<size_t>(out - begin);
    return 1;
  }
  // All but the last sixteen bytes of what has come so far goes on.
  const size_t total = s.held_size + size;
  const size_t now = total > kTicketTagSize ? total - kTicketTagSize : 0;
  const size_t from_held = std::min(now, s.held_size);
  if (!pass(s, out, s.held.data(), from_held) || !pass(s, out, in, now - from_held)) return 0;
  std::memmove(s.held.data(), s.held.data() + from_held, s.held_size - from_held);
  s.held_size -= from_held;
  const size_t rest = size - (now - from_held);
  std::memcpy(s.held.data() + s.held_size, in + (now - from_held), rest);
  s.held_size += rest;
  *out_size = static_cast<size_t>(out - begin);
  return 1;
}

int finish(void* context, unsigned char* out, size_t* out_size, size_t room) {
  Sealer& s = self(context);
  *out_size = 0;
  if (s.encapsulation != nullptr) {
    const bool good = s.sealing ? s.encapsulation->take_tag({out, room}) : s.encapsulation->done();
    if (good && s.sealing) *out_size = kTicketTagSize;
    return good ? 1 : 0;
  }
  int none = 0;
  std::array<uint8_t, kTicketTagSize> nothing;
  if (s.sealing) {
    if (room < kTicketTagSize || EVP_CipherFinal_ex(s.gcm.get(), nothing.data(), &none) != 1 ||
        EVP_CIPHER_CTX_ctrl(s.gcm.get(), EVP_CTRL_AEAD_GET_TAG, kTicketTagSize, out) != 1) {
      return 0;
    }
    *out_size = kTicketTagSize;
    return 1;
  }
  return s.held_size == kTicketTagSize &&
         EVP_CIPHER_CTX_ctrl(s.gcm.get(), EVP_CTRL_AEAD_SET_TAG, kTicketTagSize, s.held.data()) ==
             1 &&
         EVP_CipherFinal_ex(s.gcm.get(), nothing.data(), &none) == 1;
}

int get_params(OSSL_PARAM params[]) {
  const auto set = [&](const char* name, size_t value) {
    OSSL_PARAM* p = OSSL_PARAM_locate(params, name);
    return p == nullptr || OSSL_PARAM_set_size_t(p, value) == 1;
  };
  OSSL_PARAM* mode = OSSL_PARAM_locate(params, OSSL_CIPHER_PARAM_MODE);
  // A stream cipher as far as the library is concerned: no padding, and no tag of its doing. The
  // block's size is how much room it says there is at the end: that of the tag.
  return set(OSSL_CIPHER_PARAM_KEYLEN, kTicketKeySize) &&
         set(OSSL_CIPHER_PARAM_IVLEN, kTicketNonceSize) &&
         set(OSSL_CIPHER_PARAM_BLOCK_SIZE, kTicketTagSize) &&
         (mode == nullptr || OSSL_PARAM_set_uint(mode, EVP_CIPH_STREAM_CIPHER) == 1);
}

int get_context_params(void*, OSSL_PARAM params[]) { return get_params(params); }

template <typename Function>
OSSL_DISPATCH entry(int id, Function* function) {
  return {id, reinterpret_cast<void (*)()>(function)};
}

void* make(void*) {
  auto s = std::make_unique<Sealer>();
  return s->gcm == nullptr ? nullptr : s.release();
}
void destroy(void* context) { delete static_cast<Sealer*>(context); }

int seal_init(void* context, const unsigned char* key, size_t key_size, const unsigned char* nonce,
              size_t nonce_size, const OSSL_PARAM params[]) {
  return init(context, true, key, key_size, nonce, nonce_size, params);
}
int open_init(void* context, const unsigned char* key, size_t key_size, const unsigned char* nonce,
              size_t nonce_size, const OSSL_PARAM params[]) {
  return init(context, false, key, key_size, nonce, nonce_size, params);
}

const OSSL_DISPATCH kCipher[] = {
    entry(OSSL_FUNC_CIPHER_NEWCTX, make),
    entry(OSSL_FUNC_CIPHER_FREECTX, destroy),
    entry(OSSL_FUNC_CIPHER_ENCRYPT_INIT, seal_init),
    entry(OSSL_FUNC_CIPHER_DECRYPT_INIT, open_init),
    entry(OSSL_FUNC_CIPHER_UPDATE, update),
    entry(OSSL_FUNC_CIPHER_FINAL, finish),
    entry(OSSL_FUNC_CIPHER_GET_PARAMS, get_params),
    entry(OSSL_FUNC_CIPHER_GET_CTX_PARAMS, get_context_params),
    OSSL_DISPATCH_END,
};

const OSSL_ALGORITHM kCiphers[] = {
    {kName, "provider=pqedge", kCipher, "session tickets"},
    {nullptr, nullptr, nullptr, nullptr},
};

const OSSL_ALGORITHM* query(void*, int operation, int* no_cache) {
  *no_cache = 0;
  return operation == OSSL_OP_CIPHER ? kCiphers : nullptr;
}

const OSSL_DISPATCH kProviderFunctions[] = {
    entry(OSSL_FUNC_PROVIDER_QUERY_OPERATION, query),
    OSSL_DISPATCH_END,
};

int init_provider(const OSSL_CORE_HANDLE* handle, const OSSL_DISPATCH*, const OSSL_DISPATCH** out,
                  void** context) {
  *out = kProviderFunctions;
  *context = const_cast<void*>(static_cast<const void*>(handle));
  return 1;
}

EVP_CIPHER* fetch() {
  // Loading a provider by name would keep the default one from being loaded by itself: this way of
  // loading leaves that as it was.
  if (OSSL_PROVIDER_add_builtin(nullptr, kProvider, init_provider) != 1 ||
      OSSL_PROVIDER_try_load(nullptr, kProvider, 1) == nullptr) {
    return nullptr;
  }
  return EVP_CIPHER_fetch(nullptr, kName, "provider=pqedge,-fips");
}

}  // namespace

const EVP_CIPHER* ticket_cipher() {
  // Not freed: sessions may be sealed until the last thread ends.
  static EVP_CIPHER* const cipher = fetch();
  return cipher;
}

TicketKemParameters::TicketKemParameters(EVP_PKEY* key)
    : key_(key),
      params_{OSSL_PARAM_construct_octet_ptr(kKemParameter, &key_, sizeof key_),
              OSSL_PARAM_construct_end()} {}

}  // namespace pqedge::crypto
