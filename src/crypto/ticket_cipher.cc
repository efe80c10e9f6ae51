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
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "crypto/handles.h"

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

  // With an encapsulation in the ticket.
  KeyPtr kem;
  std::array<uint8_t, kTicketKeySize> base{};
  std::array<uint8_t, kTicketNonceSize> nonce{};
  bool done = false;  // the whole text came, and was good

  ~Sealer() {
    OPENSSL_cleanse(held.data(), held.size());
    OPENSSL_cleanse(base.data(), base.size());
  }
};

Sealer& self(void* context) { return *static_cast<Sealer*>(context); }

// A reference of our own: the ring may forget the key meanwhile.
bool take_kem(Sealer& s, const OSSL_PARAM* params) {
  s.kem.reset();
  s.done = false;
  const OSSL_PARAM* p = params == nullptr ? nullptr : OSSL_PARAM_locate_const(params, kKemParameter);
  if (p == nullptr) return true;
  const void* key = nullptr;
  size_t size = 0;
  if (OSSL_PARAM_get_octet_ptr(p, &key, &size) != 1 || key == nullptr) return false;
  auto* pkey = static_cast<EVP_PKEY*>(const_cast<void*>(key));
  if (EVP_PKEY_up_ref(pkey) != 1) return false;
  s.kem.reset(pkey);
  return true;
}

int init(void* context, bool sealing, const uint8_t* key, size_t key_size, const uint8_t* nonce,
         size_t nonce_size, const OSSL_PARAM* params) {
  Sealer& s = self(context);
  s.sealing = sealing;
  s.held_size = 0;
  if (!take_kem(s, params)) return 0;
  if ((key != nullptr && key_size != kTicketKeySize) ||
      (nonce != nullptr && nonce_size != kTicketNonceSize)) {
    return 0;
  }
  if (s.kem != nullptr) {
    if (key == nullptr || nonce == nullptr) return 0;
    std::copy_n(key, s.base.size(), s.base.begin());
    std::copy_n(nonce, s.nonce.size(), s.nonce.begin());
    return 1;
  }
  return EVP_CipherInit_ex2(s.gcm.get(), gcm(), key, nonce, sealing ? 1 : 0, nullptr);
}

// ---- with an encapsulation -------------------------------------------------------------------
//
// Sealed: the KEM's ciphertext (1568), then AES-256-GCM of: where it stood in the text (2), the text
// without it. The ciphertext is the header of the seal.

constexpr size_t kPlace = 2;

using Scratch = std::vector<uint8_t>;

// Wipes what it held.
class Wiped {
 public:
  explicit Wiped(size_t size) : bytes_(size) {}
  ~Wiped() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }
  Wiped(const Wiped&) = delete;
  Wiped& operator=(const Wiped&) = delete;
  uint8_t* data() { return bytes_.data(); }
  Bytes bytes() const { return bytes_; }

 private:
  Scratch bytes_;
};

bool seal_key(const Sealer& s, const KemSecret& secret, Wiped& key) {
  return derive_key(secret, s.base, "pqedge ticket 1", {key.data(), kTicketKeySize});
}

int seal_encapsulated(Sealer& s, uint8_t* out, size_t* out_size, size_t room, Bytes text) {
  const auto& placeholder = ticket_placeholder();
  const auto found = std::ranges::search(text, placeholder);
  if (found.empty() || text.size() > UINT16_MAX || room < text.size() + kPlace || s.done) return 0;
  const auto place = static_cast<size_t>(found.begin() - text.begin());
  Wiped inner(kPlace + text.size() - placeholder.size());
  store_be16(inner.data(), static_cast<uint16_t>(place));
  std::copy_n(text.begin(), place, inner.data() + kPlace);
  std::copy(found.end(), text.end(), inner.data() + kPlace + place);
  KemSecret secret;
  Wiped key(kTicketKeySize);
  Scratch sealed(inner.bytes().size() + kTicketTagSize);
  s.done = kem_encapsulate(s.kem.get(), out, secret) && seal_key(s, secret, key) &&
           gcm_seal(key.data(), s.nonce.data(), {out, kKemCiphertextSize}, inner.bytes(),
                    sealed.data());
  OPENSSL_cleanse(secret.data(), secret.size());
  if (!s.done) return 0;
  const size_t n = inner.bytes().size();
  std::copy_n(sealed.begin(), n, out + kKemCiphertextSize);
  std::copy_n(sealed.begin() + static_cast<ptrdiff_t>(n), kTicketTagSize, s.held.begin());
  *out_size = kKemCiphertextSize + n;
  return 1;
}

int open_encapsulated(Sealer& s, uint8_t* out, size_t* out_size, size_t room, Bytes sealed) {
  const auto& placeholder = ticket_placeholder();
  if (sealed.size() < kKemCiphertextSize + kPlace + kTicketTagSize || room < sealed.size() || s.done) {
    return 0;
  }
  const Bytes ciphertext = sealed.first(kKemCiphertextSize);
  const Bytes rest = sealed.subspan(kKemCiphertextSize);
  KemSecret secret;
  Wiped key(kTicketKeySize);
  Wiped inner(rest.size() - kTicketTagSize);
  const bool good =
      kem_decapsulate(s.kem.get(), ciphertext.data(), secret) && seal_key(s, secret, key) &&
      gcm_open(key.data(), s.nonce.data(), ciphertext, rest, inner.data());
  OPENSSL_cleanse(secret.data(), secret.size());
  if (!good) return 0;
  const Bytes text = inner.bytes().subspan(kPlace);
  const size_t place = load_be16(inner.data());
  if (place > text.size()) return 0;
  uint8_t* p = std::copy_n(text.begin(), place, out);
  p = std::ranges::copy(placeholder, p).out;
  p = std::copy(text.begin() + static_cast<ptrdiff_t>(place), text.end(), p);
  *out_size = static_cast<size_t>(p - out);
  s.done = true;
  return 1;
}

int finish_encapsulated(Sealer& s, uint8_t* out, size_t* out_size, size_t room) {
  if (!s.done) return 0;
  if (!s.sealing) return 1;
  if (room < kTicketTagSize) return 0;
  std::ranges::copy(s.held, out);
  *out_size = kTicketTagSize;
  return 1;
}

// ---- plain -----------------------------------------------------------------------------------

bool pass(Sealer& s, uint8_t*& out, const uint8_t* in, size_t size) {
  int written = 0;
  if (size == 0) return true;
  if (EVP_CipherUpdate(s.gcm.get(), out, &written, in, static_cast<int>(size)) != 1) return false;
  out += written;
  return true;
}

int update(void* context, unsigned char* out, size_t* out_size, size_t room, const unsigned char* in,
           size_t size) {
  Sealer& s = self(context);
  unsigned char* const begin = out;
  *out_size = 0;
  if (size > INT32_MAX || room < size) return 0;
  if (s.kem != nullptr) {
    return s.sealing ? seal_encapsulated(s, out, out_size, room, {in, size})
                     : open_encapsulated(s, out, out_size, room, {in, size});
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
  if (s.kem != nullptr) return finish_encapsulated(s, out, out_size, room);
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

const std::array<uint8_t, kKemCiphertextSize>& ticket_placeholder() {
  static constexpr std::array<uint8_t, kKemCiphertextSize> placeholder = [] {
    std::array<uint8_t, kKemCiphertextSize> bytes{};
    std::ranges::copy(std::string_view("pqedge: here the ciphertext"), bytes.begin());
    return bytes;
  }();
  return placeholder;
}

TicketKemParameters::TicketKemParameters(EVP_PKEY* key)
    : key_(key),
      params_{OSSL_PARAM_construct_octet_ptr(kKemParameter, &key_, sizeof key_),
              OSSL_PARAM_construct_end()} {}

}  // namespace pqedge::crypto
