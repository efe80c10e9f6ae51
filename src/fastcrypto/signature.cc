// ML-DSA as a signature (provider-signature(7), EVP_SIGNATURE-ML-DSA(7)): of a whole message,
// without a context string, which is what TLS asks for.
#include <openssl/core_names.h>

#include <cstring>
#include <new>

#include "fastcrypto/key.h"
#include "fastcrypto/params.h"
#include "fastcrypto/tables.h"

namespace pqedge::fast {
namespace {

// OpenSSL keeps the key as long as the context.
struct Signing : FromCore {
  explicit Signing(const Algorithm& a) : algorithm(&a) {}

  const Algorithm* algorithm;
  const Key* key = nullptr;
  bool deterministic = false;
};

Signing& self(void* context) { return *static_cast<Signing*>(context); }

template <const Algorithm& A>
void* make(void*, const char*) {
  return new (std::nothrow) Signing(A);
}
void destroy(void* context) { delete static_cast<Signing*>(context); }
void* duplicate(void* context) { return new (std::nothrow) Signing(self(context)); }

// What would change the signature and is not done here is refused.
int set_params(void* context, const OSSL_PARAM* params) {
  for (const OSSL_PARAM* p = params; p != nullptr && p->key != nullptr; ++p) {
    if (std::strcmp(p->key, OSSL_SIGNATURE_PARAM_DETERMINISTIC) == 0) {
      if (p->data_type != OSSL_PARAM_INTEGER || p->data_size != sizeof(int)) return 0;
      self(context).deterministic = *static_cast<const int*>(p->data) != 0;
    } else if (std::strcmp(p->key, OSSL_SIGNATURE_PARAM_CONTEXT_STRING) == 0) {
      if (p->data_size != 0) return 0;
    } else if (std::strcmp(p->key, OSSL_SIGNATURE_PARAM_MESSAGE_ENCODING) == 0) {
      if (p->data_type != OSSL_PARAM_INTEGER || p->data_size != sizeof(int) ||
          *static_cast<const int*>(p->data) != 1) {
        return 0;
      }
    } else {
      return 0;
    }
  }
  return 1;
}
const OSSL_PARAM* settable(void*, void*) {
  static const OSSL_PARAM params[] = {
      describe(OSSL_SIGNATURE_PARAM_DETERMINISTIC, OSSL_PARAM_INTEGER),
      describe(OSSL_SIGNATURE_PARAM_CONTEXT_STRING, OSSL_PARAM_OCTET_STRING),
      describe(OSSL_SIGNATURE_PARAM_MESSAGE_ENCODING, OSSL_PARAM_INTEGER),
      kNoMore,
  };
  return params;
}

// Without a key: again with the one before.
bool begin(void* context, void* key, bool with_private, const OSSL_PARAM* params) {
  Signing& s = self(context);
  if (key != nullptr) s.key = static_cast<const Key*>(key);
  s.deterministic = false;
  return s.key != nullptr && &s.key->algorithm() == s.algorithm &&
         (with_private ? s.key->has_private() : s.key->has_public()) &&
         set_params(context, params) == 1;
}
int sign_init(void* context, void* key, const OSSL_PARAM* params) {
  return begin(context, key, true, params);
}
int verify_init(void* context, void* key, const OSSL_PARAM* params) {
  return begin(context, key, false, params);
}
bool none(const char* digest) { return digest == nullptr || *digest == 0; }
int digest_sign_init(void* context, const char* digest, void* key, const OSSL_PARAM* params) {
  return none(digest) && begin(context, key, true, params);
}
int digest_verify_init(void* context, const char* digest, void* key, const OSSL_PARAM* params) {
  return none(digest) && begin(context, key, false, params);
}

int sign(void* context, unsigned char* out, size_t* size, size_t room, const unsigned char* message,
         size_t message_size) {
  const Signing& s = self(context);
  const MlDsa& dsa = *s.algorithm->dsa;
  *size = dsa.signature_size;
  if (out == nullptr) return 1;
  return s.key != nullptr && s.key->has_private() && room >= dsa.signature_size &&
         dsa.sign(out, s.key->private_part(), message, message_size, s.deterministic);
}

int verify(void* context, const unsigned char* signature, size_t size, const unsigned char* message,
           size_t message_size) {
  const Signing& s = self(context);
  return s.key != nullptr && s.key->has_public() &&
         s.algorithm->dsa->verify(signature, size, s.key->public_part(), message, message_size);
}

template <const Algorithm& A>
const OSSL_DISPATCH kFunctions[] = {
    entry(OSSL_FUNC_SIGNATURE_NEWCTX, make<A>),
    entry(OSSL_FUNC_SIGNATURE_FREECTX, destroy),
    entry(OSSL_FUNC_SIGNATURE_DUPCTX, duplicate),
    entry(OSSL_FUNC_SIGNATURE_SIGN_MESSAGE_INIT, sign_init),
    entry(OSSL_FUNC_SIGNATURE_SIGN, sign),
    entry(OSSL_FUNC_SIGNATURE_VERIFY_MESSAGE_INIT, verify_init),
    entry(OSSL_FUNC_SIGNATURE_VERIFY, verify),
    entry(OSSL_FUNC_SIGNATURE_DIGEST_SIGN_INIT, digest_sign_init),
    entry(OSSL_FUNC_SIGNATURE_DIGEST_SIGN, sign),
    entry(OSSL_FUNC_SIGNATURE_DIGEST_VERIFY_INIT, digest_verify_init),
    entry(OSSL_FUNC_SIGNATURE_DIGEST_VERIFY, verify),
    entry(OSSL_FUNC_SIGNATURE_SET_CTX_PARAMS, set_params),
    entry(OSSL_FUNC_SIGNATURE_SETTABLE_CTX_PARAMS, settable),
    {0, nullptr},
};

}  // namespace

const OSSL_ALGORITHM kSignatures[] = {
    {kMlDsa44Names, kProperties, kFunctions<kDsa44>, "ML-DSA-44 of AWS-LC"},
    {kMlDsa65Names, kProperties, kFunctions<kDsa65>, "ML-DSA-65 of AWS-LC"},
    {kMlDsa87Names, kProperties, kFunctions<kDsa87>, "ML-DSA-87 of AWS-LC"},
    {nullptr, nullptr, nullptr, nullptr},
};

}  // namespace pqedge::fast
