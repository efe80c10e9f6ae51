// Known answers of pqedge-fast.so, at start: published values where there are short ones, and
// OpenSSL's own code as the second opinion on the rest.
#include <openssl/core_names.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/provider.h>

#include <array>
#include <optional>
#include <vector>

#include "crypto/fast_provider.h"
#include "crypto/fast_provider_check.h"
#include "crypto/handles.h"

namespace pqedge::crypto {
namespace {

using namespace fast_check;

// NIST ACVP, ML-KEM-keyGen-FIPS203: a seed (d, z) and the SHA-256 of the encapsulation key.
struct KemVector {
  const char* name;
  std::string_view seed;
  std::string_view public_sha256;
};
constexpr KemVector kKems[] = {
    {"ML-KEM-512",  // tcId 1
     "2cb843a02ef02ee109305f39119fabf49ab90a57ffecb3a0e75e179450f52761"
     "84cc9121ae56fbf39e67adbd83ad2d3e3bb80843645206bdd9f2f629e3cc49b7",
     "f96920dc6766df52dca2428e7e751c0c27d537424c0a3f5c89153c2d5d28f898"},
    {"ML-KEM-768",  // tcId 26
     "e34a701c4c87582f42264ee422d3c684d97611f2523efe0c998af05056d693dc"
     "a85768f3486bd32a01bf9a8f21ea938e648eae4e5448c34c3eb88820b159eedd",
     "7799c9d8eef172aa78c073514f2f039c240de8c5cb61bca82ba0bc46041ce279"},
    {"ML-KEM-1024",  // tcId 51
     "49ac8b99bb1e6a8ea818261f8be68bdeaa52897e7ec6c40b530bc760ab77dce3"
     "99e3246884181f8e1dd44e0c7629093330221fd67d9b7d6e1510b2dbad8762f7",
     "62fccf5fdf805b110670b39cd5e25b1811172961ea4047bfbd589e323ce7cfbc"},
};

// RFC 7748 5.2, the first vector.
constexpr std::string_view kScalar =
    "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4";
constexpr std::string_view kPoint =
    "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c";
constexpr std::string_view kProduct =
    "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552";

KeyPtr generate(const char* name, const char* properties) {
  const ContextPtr context(EVP_PKEY_CTX_new_from_name(nullptr, name, properties));
  EVP_PKEY* key = nullptr;
  if (context == nullptr || EVP_PKEY_keygen_init(context.get()) != 1 ||
      EVP_PKEY_generate(context.get(), &key) != 1) {
    return nullptr;
  }
  return KeyPtr(key);
}

Octets public_of(const KeyPtr& key) { return part_of(key, OSSL_PKEY_PARAM_ENCODED_PUBLIC_KEY); }

// What a peer has of a key: as libssl puts it together from a key share.
KeyPtr peer_of(const char* name, const char* properties, const Octets& bytes) {
  const ContextPtr context(EVP_PKEY_CTX_new_from_name(nullptr, name, properties));
  EVP_PKEY* key = nullptr;
  if (context == nullptr || EVP_PKEY_paramgen_init(context.get()) != 1 ||
      EVP_PKEY_paramgen(context.get(), &key) != 1) {
    return nullptr;
  }
  KeyPtr peer(key);
  if (EVP_PKEY_set1_encoded_public_key(peer.get(), bytes.data(), bytes.size()) != 1) return nullptr;
  return peer;
}

struct Encapsulated {
  Octets ciphertext;
  Octets secret;
};

// `random`: the input m of FIPS 203 7.2; empty: from the generator.
std::optional<Encapsulated> encapsulate(const KeyPtr& key, const char* properties, Octets random) {
  const ContextPtr context(
      key == nullptr ? nullptr : EVP_PKEY_CTX_new_from_pkey(nullptr, key.get(), properties));
  OSSL_PARAM params[] = {random.empty() ? OSSL_PARAM_construct_end()
                                        : OSSL_PARAM_construct_octet_string(
                                              OSSL_KEM_PARAM_IKME, random.data(), random.size()),
                         OSSL_PARAM_construct_end()};
  size_t ciphertext = 0;
  size_t secret = 0;
  if (context == nullptr || EVP_PKEY_encapsulate_init(context.get(), params) != 1 ||
      EVP_PKEY_encapsulate(context.get(), nullptr, &ciphertext, nullptr, &secret) != 1) {
    return std::nullopt;
  }
  Encapsulated out{Octets(ciphertext), Octets(secret)};
  if (EVP_PKEY_encapsulate(context.get(), out.ciphertext.data(), &ciphertext, out.secret.data(),
                           &secret) != 1) {
    return std::nullopt;
  }
  return out;
}

Octets decapsulate(const KeyPtr& key, const char* properties, const Octets& ciphertext) {
  const ContextPtr context(
      key == nullptr ? nullptr : EVP_PKEY_CTX_new_from_pkey(nullptr, key.get(), properties));
  const uint8_t* in = ciphertext.data();
  const size_t in_size = ciphertext.size();
  size_t size = 0;
  if (context == nullptr || EVP_PKEY_decapsulate_init(context.get(), nullptr) != 1 ||
      EVP_PKEY_decapsulate(context.get(), nullptr, &size, in, in_size) != 1) {
    return {};
  }
  Octets out(size);
  return EVP_PKEY_decapsulate(context.get(), out.data(), &size, in, in_size) == 1 ? out : Octets();
}

Octets agree(const KeyPtr& key, const KeyPtr& peer, const char* properties) {
  const ContextPtr context(
      key == nullptr ? nullptr : EVP_PKEY_CTX_new_from_pkey(nullptr, key.get(), properties));
  size_t size = 0;
  if (context == nullptr || peer == nullptr || EVP_PKEY_derive_init(context.get()) != 1 ||
      EVP_PKEY_derive_set_peer(context.get(), peer.get()) != 1 ||
      EVP_PKEY_derive(context.get(), nullptr, &size) != 1) {
    return {};
  }
  Octets out(size);
  return EVP_PKEY_derive(context.get(), out.data(), &size) == 1 ? out : Octets();
}

Result<void> check_kem(const KemVector& v) {
  const KeyPtr fast =
      import_key(v.name, kFastAlone, OSSL_PKEY_PARAM_ML_KEM_SEED, octets_of(v.seed));
  const KeyPtr own =
      import_key(v.name, kOpensslAlone, OSSL_PKEY_PARAM_ML_KEM_SEED, octets_of(v.seed));
  const Octets public_key = public_of(fast);
  if (!has_sha256(public_key, v.public_sha256)) return fail("{}: key generation", v.name);
  const Octets random(32, 0x5a);
  const auto by_fast = encapsulate(peer_of(v.name, kFastAlone, public_key), kFastAlone, random);
  const auto by_own = encapsulate(own, kOpensslAlone, random);
  if (!by_fast || !by_own || by_fast->ciphertext != by_own->ciphertext ||
      by_fast->secret != by_own->secret || by_fast->secret.empty()) {
    return fail("{}: encapsulation", v.name);
  }
  if (decapsulate(fast, kFastAlone, by_own->ciphertext) != by_own->secret) {
    return fail("{}: decapsulation", v.name);
  }
  // Implicit rejection (FIPS 203 7.3): a changed ciphertext gives a secret that depends on it.
  Octets changed = by_own->ciphertext;
  changed[changed.size() / 2] ^= 1;
  const Octets rejected = decapsulate(own, kOpensslAlone, changed);
  if (rejected.empty() || decapsulate(fast, kFastAlone, changed) != rejected) {
    return fail("{}: decapsulation of a changed ciphertext", v.name);
  }
  // And one coefficient beyond the modulus is no key (FIPS 203 7.2).
  Octets wrong = public_key;
  wrong[0] = wrong[1] = 0xff;
  if (peer_of(v.name, kFastAlone, wrong) != nullptr) return fail("{}: the check of a key", v.name);
  return {};
}

Result<void> check_x25519() {
  const char* const name = "X25519";
  const KeyPtr key = import_key(name, kFastAlone, OSSL_PKEY_PARAM_PRIV_KEY, octets_of(kScalar));
  if (agree(key, peer_of(name, kFastAlone, octets_of(kPoint)), kFastAlone) != octets_of(kProduct)) {
    return fail("{}: RFC 7748 5.2", name);
  }
  // A point of small order makes the secret known to everyone (RFC 8446 7.4.2).
  if (!agree(key, peer_of(name, kFastAlone, Octets(32, 0)), kFastAlone).empty()) {
    return fail("{}: a secret of zero is not refused", name);
  }
  const KeyPtr fast = generate(name, kFastAlone);
  const KeyPtr own = generate(name, kOpensslAlone);
  const Octets secret = agree(fast, peer_of(name, kFastAlone, public_of(own)), kFastAlone);
  if (secret.empty() ||
      secret != agree(own, peer_of(name, kOpensslAlone, public_of(fast)), kOpensslAlone)) {
    return fail("{}: agreement with OpenSSL", name);
  }
  return {};
}

// A handshake's both ends, one by each.
Result<void> check_hybrid() {
  const char* const name = "X25519MLKEM768";
  for (const bool fast_serves : {true, false}) {
    const char* const server = fast_serves ? kFastAlone : kOpensslAlone;
    const char* const client = fast_serves ? kOpensslAlone : kFastAlone;
    const KeyPtr key = generate(name, client);
    const auto sent = encapsulate(peer_of(name, server, public_of(key)), server, {});
    if (!sent || sent->secret.empty() ||
        decapsulate(key, client, sent->ciphertext) != sent->secret) {
      return fail("{}: agreement with OpenSSL as the {}", name, fast_serves ? "server" : "client");
    }
  }
  return {};
}

// Whoever asks for no properties must not get it: it has no encodings of keys, for one.
Result<void> check_unasked() {
  const auto taken = [](const char* name) -> Result<void> {
    return fail("{}: it takes OpenSSL's place where it was not asked for", name);
  };
  for (const char* name : {"X25519", "ML-KEM-1024", "X25519MLKEM768"}) {
    const std::unique_ptr<EVP_KEYMGMT, FreeWith<EVP_KEYMGMT_free>> found(
        EVP_KEYMGMT_fetch(nullptr, name, nullptr));
    if (found == nullptr || is_fast(EVP_KEYMGMT_get0_provider(found.get()))) return taken(name);
  }
  for (const char* name : {"ML-DSA-44", "ML-DSA-65", "ML-DSA-87"}) {
    const std::unique_ptr<EVP_SIGNATURE, FreeWith<EVP_SIGNATURE_free>> found(
        EVP_SIGNATURE_fetch(nullptr, name, nullptr));
    if (found == nullptr || is_fast(EVP_SIGNATURE_get0_provider(found.get()))) return taken(name);
  }
  for (const char* name : {"HKDF", "TLS13-KDF"}) {
    const std::unique_ptr<EVP_KDF, FreeWith<EVP_KDF_free>> found(
        EVP_KDF_fetch(nullptr, name, nullptr));
    if (found == nullptr || is_fast(EVP_KDF_get0_provider(found.get()))) return taken(name);
  }
  return {};
}

}  // namespace

Result<void> check_fast_provider() {
  clear_errors();
  Result<void> right = check_unasked();
  for (const KemVector& vector : kKems) {
    if (right) right = check_kem(vector);
  }
  if (right) right = check_x25519();
  if (right) right = check_hybrid();
  if (right) right = check_derivation();
  if (right) right = check_signatures();
  ERR_clear_error();
  return right;
}

}  // namespace pqedge::crypto
