// The signature schemes of TLS that the module computes, as a capability (TLS-SIGALG,
// provider-base(7)). libssl takes a scheme only from the provider whose keys its properties choose:
// without this one it would have no ML-DSA at all where ours are preferred. Where they are not, it
// passes over ours in the same way.
#include <openssl/core_names.h>
#include <strings.h>

#include <cstring>

#include "fastcrypto/params.h"
#include "fastcrypto/tables.h"

namespace pqedge::fast {
namespace {

// As OpenSSL's own provider says it; the code points are of draft-ietf-tls-mldsa.
struct Scheme {
  const char* iana_name;
  const char* algorithm;
  const char* oid;
  unsigned code_point;
  unsigned security_bits;
};
constexpr Scheme kSchemes[] = {
    {"mldsa44", "ML-DSA-44", "2.16.840.1.101.3.4.3.17", 0x0904, 128},
    {"mldsa65", "ML-DSA-65", "2.16.840.1.101.3.4.3.18", 0x0905, 192},
    {"mldsa87", "ML-DSA-87", "2.16.840.1.101.3.4.3.19", 0x0906, 256},
};

template <typename Number>
OSSL_PARAM number(const char* key, unsigned type, Number& value) {
  return {key, type, &value, sizeof value, OSSL_PARAM_UNMODIFIED};
}

OSSL_PARAM text(const char* key, const char* value) {
  return {key, OSSL_PARAM_UTF8_STRING, const_cast<char*>(value), std::strlen(value),
          OSSL_PARAM_UNMODIFIED};
}

int give(const Scheme& scheme, OSSL_CALLBACK* take, void* argument) {
  unsigned code_point = scheme.code_point;
  unsigned security_bits = scheme.security_bits;
  int least = 0x0304;  // TLS 1.3
  int most = 0;        // any later one
  int no_dtls = -1;
  const OSSL_PARAM params[] = {
      text(OSSL_CAPABILITY_TLS_SIGALG_IANA_NAME, scheme.iana_name),
      text(OSSL_CAPABILITY_TLS_SIGALG_NAME, scheme.algorithm),
      text(OSSL_CAPABILITY_TLS_SIGALG_OID, scheme.oid),
      number(OSSL_CAPABILITY_TLS_SIGALG_CODE_POINT, OSSL_PARAM_UNSIGNED_INTEGER, code_point),
      number(OSSL_CAPABILITY_TLS_SIGALG_SECURITY_BITS, OSSL_PARAM_UNSIGNED_INTEGER, security_bits),
      number(OSSL_CAPABILITY_TLS_SIGALG_MIN_TLS, OSSL_PARAM_INTEGER, least),
      number(OSSL_CAPABILITY_TLS_SIGALG_MAX_TLS, OSSL_PARAM_INTEGER, most),
      number(OSSL_CAPABILITY_TLS_SIGALG_MIN_DTLS, OSSL_PARAM_INTEGER, no_dtls),
      number(OSSL_CAPABILITY_TLS_SIGALG_MAX_DTLS, OSSL_PARAM_INTEGER, no_dtls),
      kNoMore,
  };
  return take(params, argument);
}

}  // namespace

int get_capabilities(void*, const char* capability, OSSL_CALLBACK* take, void* argument) {
  // Of the others (TLS-GROUP) there are none, which is no failure: libssl would stop at it.
  if (strcasecmp(capability, "TLS-SIGALG") != 0) return 1;
  for (const Scheme& scheme : kSchemes) {
    if (give(scheme, take, argument) != 1) return 0;
  }
  return 1;
}

}  // namespace pqedge::fast
