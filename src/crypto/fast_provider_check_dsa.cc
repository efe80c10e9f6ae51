// Known answers of pqedge-fast.so's ML-DSA, at start.
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include "crypto/fast_provider.h"
#include "crypto/fast_provider_check.h"

namespace pqedge::crypto::fast_check {
namespace {

using DigestContextPtr = std::unique_ptr<EVP_MD_CTX, FreeWith<EVP_MD_CTX_free>>;

// NIST ACVP, ML-DSA-keyGen-FIPS204: a seed and the SHA-256 of the public key.
struct DsaVector {
  const char* name;
  std::string_view seed;
  std::string_view public_sha256;
};
constexpr DsaVector kSignatureKeys[] = {
    {"ML-DSA-44",  // tcId 1
     "93ef2e6ef1fb08999d142abe0295482370d3f43bdb254a78e2b0d5168eca065f",
     "6995b20ecd5cde41719035028a712ccf35b1adf53b913030423d9d6fa188d673"},
    {"ML-DSA-65",  // tcId 26
     "70cefb9aed5b68e018b079da8284b9d5cad5499ed9c265ff73588005d85c225c",
     "646b26b8d09dbc9e865b6a006c693a3127b065e62fab5fbe8b159c416462feb6"},
    {"ML-DSA-87",  // tcId 51
     "38359fbcd79582cffe609e137ee2efe8a8dbcbad18ba92bb433ab4f09b49299d",
     "ea374a09356e5f89be784f28f4ef938e8976cb5c4db00fbacb257663491748d4"},
};

// As libssl signs. `by_fast`: whether it has to be the module that does.
Octets sign(const KeyPtr& key, const char* properties, const Octets& message, bool deterministic,
            bool by_fast) {
  const DigestContextPtr context(EVP_MD_CTX_new());
  EVP_PKEY_CTX* operation = nullptr;
  int fixed = 1;
  OSSL_PARAM params[] = {deterministic
                             ? OSSL_PARAM_construct_int(OSSL_SIGNATURE_PARAM_DETERMINISTIC, &fixed)
                             : OSSL_PARAM_construct_end(),
                         OSSL_PARAM_construct_end()};
  size_t size = 0;
  if (context == nullptr || key == nullptr ||
      EVP_DigestSignInit_ex(context.get(), &operation, nullptr, nullptr, properties, key.get(),
                            params) != 1 ||
      is_fast(EVP_PKEY_CTX_get0_provider(operation)) != by_fast ||
      EVP_DigestSign(context.get(), nullptr, &size, message.data(), message.size()) != 1) {
    return {};
  }
  Octets out(size);
  return EVP_DigestSign(context.get(), out.data(), &size, message.data(), message.size()) == 1
             ? out
             : Octets();
}

bool verify(const KeyPtr& key, const char* properties, const Octets& signature,
            const Octets& message) {
  const DigestContextPtr context(EVP_MD_CTX_new());
  return context != nullptr && key != nullptr &&
         EVP_DigestVerifyInit_ex(context.get(), nullptr, nullptr, nullptr, properties, key.get(),
                                 nullptr) == 1 &&
         EVP_DigestVerify(context.get(), signature.data(), signature.size(), message.data(),
                          message.size()) == 1;
}

Result<void> check_signature(const DsaVector& v) {
  const KeyPtr fast =
      import_key(v.name, kFastAlone, OSSL_PKEY_PARAM_ML_DSA_SEED, octets_of(v.seed));
  const KeyPtr own =
      import_key(v.name, kOpensslAlone, OSSL_PKEY_PARAM_ML_DSA_SEED, octets_of(v.seed));
  const Octets public_key = part_of(fast, OSSL_PKEY_PARAM_PUB_KEY);
  if (!has_sha256(public_key, v.public_sha256)) return fail("{}: key generation", v.name);
  const KeyPtr expanded = import_key(v.name, kFastAlone, OSSL_PKEY_PARAM_PRIV_KEY,
                                     part_of(own, OSSL_PKEY_PARAM_PRIV_KEY));
  if (part_of(expanded, OSSL_PKEY_PARAM_PUB_KEY) != public_key) {
    return fail("{}: the public key of a private one", v.name);
  }
  Octets message(130, 0x20);  // as long as what TLS 1.3 signs (RFC 8446 4.4.3)
  const Octets fixed = sign(fast, kFastAlone, message, true, true);
  if (fixed.empty() || fixed != sign(own, kOpensslAlone, message, true, false)) {
    return fail("{}: a deterministic signature", v.name);
  }
  // The key as it was read, by OpenSSL, and the signature by whom TLS prefers.
  const Octets hedged = sign(own, kFastProperties, message, false, true);
  if (hedged.empty() || hedged == fixed || !verify(own, kOpensslAlone, hedged, message)) {
    return fail("{}: a signature", v.name);
  }
  const KeyPtr peer = import_key(v.name, kFastAlone, OSSL_PKEY_PARAM_PUB_KEY, public_key);
  if (!verify(peer, kFastAlone, sign(own, kOpensslAlone, message, false, false), message)) {
    return fail("{}: verification", v.name);
  }
  Octets changed = hedged;
  changed.back() ^= 1;
  message[0] ^= 1;
  if (verify(peer, kFastAlone, hedged, message) || verify(peer, kFastAlone, {}, message)) {
    return fail("{}: verification of another message", v.name);
  }
  message[0] ^= 1;
  if (verify(peer, kFastAlone, changed, message)) {
    return fail("{}: verification of a changed signature", v.name);
  }
  return {};
}

}  // namespace

Result<void> check_signatures() {
  for (const DsaVector& vector : kSignatureKeys) {
    if (auto right = check_signature(vector); !right) return right;
  }
  return {};
}

}  // namespace pqedge::crypto::fast_check
