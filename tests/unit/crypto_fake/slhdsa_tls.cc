// An OpenSSL provider that gives TLS a signature scheme for SLH-DSA-SHA2-128s: OpenSSL 3.5 has the
// algorithm, and no scheme. It stands for a library to come, and makes signatures that are slow.
//
// The algorithm is that of a default provider in a library context of its own; the scheme has a
// code point for private use (RFC 8446 11).
#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/params.h>
#include <openssl/provider.h>

#include <cstring>

namespace {

constexpr char kName[] = "SLH-DSA-SHA2-128s";

OSSL_LIB_CTX* library = nullptr;
OSSL_PROVIDER* default_provider = nullptr;
OSSL_ALGORITHM key_management[2] = {};
OSSL_ALGORITHM signatures[2] = {};

bool take(int operation, OSSL_ALGORITHM* into) {
  int no_cache = 0;
  const OSSL_ALGORITHM* all = OSSL_PROVIDER_query_operation(default_provider, operation, &no_cache);
  for (; all != nullptr && all->algorithm_names != nullptr; ++all) {
    const size_t size = sizeof kName - 1;
    const char* names = all->algorithm_names;
    if (std::strncmp(names, kName, size) != 0 || (names[size] != ':' && names[size] != '\0')) {
      continue;
    }
    into[0] = *all;
    into[0].property_definition = "provider=slhdsa-tls";
    return true;
  }
  return false;
}

const OSSL_ALGORITHM* query(void*, int operation, int* no_cache) {
  *no_cache = 0;
  if (operation == OSSL_OP_KEYMGMT) return key_management;
  return operation == OSSL_OP_SIGNATURE ? signatures : nullptr;
}

int capabilities(void*, const char* capability, OSSL_CALLBACK* tell, void* argument) {
  if (std::strcmp(capability, "TLS-SIGALG") != 0) return 1;  // it has none
  static unsigned int code = 0xfe30;
  static unsigned int bits = 128;
  static int tls13 = 0x0304;
  static int any = 0;
  static int none = -1;
  static char scheme[] = "slhdsa_sha2_128s";
  static char name[] = "SLH-DSA-SHA2-128s";
  static char oid[] = "2.16.840.1.101.3.4.3.20";  // NIST's registry, sigAlgs 20
  const OSSL_PARAM params[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_CAPABILITY_TLS_SIGALG_IANA_NAME, scheme, 0),
      OSSL_PARAM_construct_utf8_string(OSSL_CAPABILITY_TLS_SIGALG_NAME, name, 0),
      OSSL_PARAM_construct_utf8_string(OSSL_CAPABILITY_TLS_SIGALG_OID, oid, 0),
      OSSL_PARAM_construct_uint(OSSL_CAPABILITY_TLS_SIGALG_CODE_POINT, &code),
      OSSL_PARAM_construct_uint(OSSL_CAPABILITY_TLS_SIGALG_SECURITY_BITS, &bits),
      OSSL_PARAM_construct_int(OSSL_CAPABILITY_TLS_SIGALG_MIN_TLS, &tls13),
      OSSL_PARAM_construct_int(OSSL_CAPABILITY_TLS_SIGALG_MAX_TLS, &any),
      OSSL_PARAM_construct_int(OSSL_CAPABILITY_TLS_SIGALG_MIN_DTLS, &none),
      OSSL_PARAM_construct_int(OSSL_CAPABILITY_TLS_SIGALG_MAX_DTLS, &none),
      OSSL_PARAM_construct_end(),
  };
  return tell(params, argument);
}

void teardown(void*) {
  OSSL_PROVIDER_unload(default_provider);
  OSSL_LIB_CTX_free(library);
}

template <typename Function>
void (*generic(Function* function))() {
  return reinterpret_cast<void (*)()>(function);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int OSSL_provider_init(const OSSL_CORE_HANDLE*,
                                                                         const OSSL_DISPATCH*,
                                                                         const OSSL_DISPATCH** out,
                                                                         void** context) {
  static const OSSL_DISPATCH table[] = {
      {OSSL_FUNC_PROVIDER_QUERY_OPERATION, generic(query)},
      {OSSL_FUNC_PROVIDER_GET_CAPABILITIES, generic(capabilities)},
      {OSSL_FUNC_PROVIDER_TEARDOWN, generic(teardown)},
      OSSL_DISPATCH_END,
  };
  library = OSSL_LIB_CTX_new();
  default_provider = library == nullptr ? nullptr : OSSL_PROVIDER_load(library, "default");
  if (default_provider == nullptr || !take(OSSL_OP_KEYMGMT, key_management) ||
      !take(OSSL_OP_SIGNATURE, signatures)) {
    return 0;
  }
  *out = table;
  *context = OSSL_PROVIDER_get0_provider_ctx(default_provider);
  return 1;
}
