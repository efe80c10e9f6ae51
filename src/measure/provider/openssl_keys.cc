#include "measure/provider/openssl.h"

namespace pqedge::measure::openssl {

std::unexpected<Error> failed(std::string_view what) {
  return fail("OpenSSL: {}: {}", what, crypto::take_openssl_error());
}

Result<KeyContext> make_generator(const char* type, const char* group, unsigned rsa_bits) {
  crypto::clear_errors();
  KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  if (!context || EVP_PKEY_keygen_init(context.get()) != 1) return failed(type);
  if (*group != '\0' && EVP_PKEY_CTX_set_group_name(context.get(), group) != 1) {
    return failed(group);
  }
  if (rsa_bits != 0 &&
      EVP_PKEY_CTX_set_rsa_keygen_bits(context.get(), static_cast<int>(rsa_bits)) != 1) {
    return failed(type);
  }
  return context;
}

Result<KeyPtr> generate(EVP_PKEY_CTX* generator) {
  EVP_PKEY* key = nullptr;
  if (EVP_PKEY_generate(generator, &key) != 1) return failed("key generation");
  return KeyPtr(key);
}

Result<KeyPtr> generate_from_seed(const char* type, Bytes seed) {
  auto generator = make_generator(type, "");
  if (!generator) return std::unexpected(generator.error());
  // ML-KEM, ML-DSA and SLH-DSA name it alike.
  OSSL_PARAM params[] = {
      OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_ML_KEM_SEED,
                                        const_cast<uint8_t*>(seed.data()), seed.size()),
      OSSL_PARAM_construct_end()};
  if (EVP_PKEY_CTX_set_params(generator->get(), params) != 1) return failed("seed");
  return generate(generator->get());
}

Result<KeyPtr> import_key(const char* type, int selection, const OSSL_PARAM* params) {
  crypto::clear_errors();
  KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  if (!context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, selection, const_cast<OSSL_PARAM*>(params)) != 1) {
    return failed("import of a key");
  }
  return KeyPtr(key);
}

Result<KeyPtr> import_public(const char* type, const char* group, Bytes encoded) {
  OSSL_PARAM params[3];
  size_t count = 0;
  if (*group != '\0') {
    params[count++] =
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, const_cast<char*>(group), 0);
  }
  params[count++] = OSSL_PARAM_construct_octet_string(
      OSSL_PKEY_PARAM_PUB_KEY, const_cast<uint8_t*>(encoded.data()), encoded.size());
  params[count] = OSSL_PARAM_construct_end();
  return import_key(type, EVP_PKEY_PUBLIC_KEY, params);
}

Result<KeyPtr> import_raw_private(const char* type, Bytes encoded) {
  crypto::clear_errors();
  KeyPtr key(
      EVP_PKEY_new_raw_private_key_ex(nullptr, type, nullptr, encoded.data(), encoded.size()));
  if (!key) return failed("import of a private key");
  return key;
}

Result<std::vector<uint8_t>> encoded_public(EVP_PKEY* key) {
  unsigned char* encoded = nullptr;
  size_t length = EVP_PKEY_get1_encoded_public_key(key, &encoded);
  if (length == 0) return failed("encoding of a public key");
  std::vector<uint8_t> copy(encoded, encoded + length);
  OPENSSL_free(encoded);
  return copy;
}

}  // namespace pqedge::measure::openssl
