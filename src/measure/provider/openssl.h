// OpenSSL's primitives over EVP. Inside the provider only.
#pragma once

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include <memory>
#include <string>
#include <string_view>

#include "crypto/handles.h"
#include "measure/provider/primitive.h"

namespace pqedge::measure::openssl {

using crypto::FreeWith;
using crypto::KeyPtr;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, FreeWith<EVP_PKEY_CTX_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, FreeWith<EVP_MD_CTX_free>>;
using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, FreeWith<EVP_CIPHER_CTX_free>>;
using Number = std::unique_ptr<BIGNUM, FreeWith<BN_clear_free>>;
using ParamBuilder = std::unique_ptr<OSSL_PARAM_BLD, FreeWith<OSSL_PARAM_BLD_free>>;
using Params = std::unique_ptr<OSSL_PARAM, FreeWith<OSSL_PARAM_free>>;

// "<what>: <OpenSSL's reason>", from this thread's error queue.
std::unexpected<Error> failed(std::string_view what);

// A key pair's generator, made once: what it fetches is not fetched again for each key. `group` is
// a curve, a finite-field group or empty; `rsa_bits` is for RSA alone.
Result<KeyContext> make_generator(const char* type, const char* group, unsigned rsa_bits = 0);
Result<KeyPtr> generate(EVP_PKEY_CTX* generator);
// With the seed of FIPS 203, 204 or 205.
Result<KeyPtr> generate_from_seed(const char* type, Bytes seed);
Result<KeyPtr> import_key(const char* type, int selection, const OSSL_PARAM* params);
Result<KeyPtr> import_public(const char* type, const char* group, Bytes encoded);
Result<KeyPtr> import_raw_private(const char* type, Bytes encoded);
// The encoding that TLS sends (points uncompressed, finite-field keys as long as their prime).
Result<std::vector<uint8_t>> encoded_public(EVP_PKEY* key);

// Null: OpenSSL, or this build of it, has no such algorithm.
std::unique_ptr<Kem> make_kem(std::string_view algorithm);
std::unique_ptr<KeyAgreement> make_agreement(std::string_view algorithm);
std::unique_ptr<Signature> make_signature(std::string_view algorithm);
std::unique_ptr<Aead> make_aead(std::string_view algorithm, Bytes key, Bytes iv);

Implementation implementation_of(std::string_view algorithm);

}  // namespace pqedge::measure::openssl
