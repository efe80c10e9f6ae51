// pqedge-fast.so: the one function that it exports, and what is in it.
//
// No groups of TLS are named here (the capability TLS-GROUP): OpenSSL's own provider names them,
// and libssl fetches what computes them by the context's properties. Named twice, each would be
// listed twice in a hello.
#include <openssl/core.h>
#include <openssl/core_names.h>

#include "fastcrypto/memory.h"
#include "fastcrypto/params.h"
#include "fastcrypto/primitives.h"
#include "fastcrypto/tables.h"

namespace pqedge::fast {
namespace {

const OSSL_PARAM* gettable(void*) {
  static const OSSL_PARAM params[] = {
      describe(OSSL_PROV_PARAM_NAME, OSSL_PARAM_UTF8_PTR),
      describe(OSSL_PROV_PARAM_VERSION, OSSL_PARAM_UTF8_PTR),
      describe(OSSL_PROV_PARAM_BUILDINFO, OSSL_PARAM_UTF8_PTR),
      describe(OSSL_PROV_PARAM_STATUS, OSSL_PARAM_INTEGER),
      kNoMore,
  };
  return params;
}

int get_params(void*, OSSL_PARAM* params) {
  return answer_text(find(params, OSSL_PROV_PARAM_NAME), "pqedge fast handshakes") &&
         answer_text(find(params, OSSL_PROV_PARAM_VERSION), library_version()) &&
         answer_text(find(params, OSSL_PROV_PARAM_BUILDINFO), library_version()) &&
         answer(find(params, OSSL_PROV_PARAM_STATUS), 1);
}

const OSSL_ALGORITHM* query(void*, int operation, int* no_cache) {
  *no_cache = 0;
  switch (operation) {
    case OSSL_OP_KEYMGMT: return kKeyManagement;
    case OSSL_OP_KEYEXCH: return kKeyExchanges;
    case OSSL_OP_KEM: return kKems;
    case OSSL_OP_SIGNATURE: return kSignatures;
    case OSSL_OP_KDF: return kKdfs;
    default: return nullptr;
  }
}

const OSSL_DISPATCH kFunctions[] = {
    entry(OSSL_FUNC_PROVIDER_GETTABLE_PARAMS, gettable),
    entry(OSSL_FUNC_PROVIDER_GET_PARAMS, get_params),
    entry(OSSL_FUNC_PROVIDER_QUERY_OPERATION, query),
    entry(OSSL_FUNC_PROVIDER_GET_CAPABILITIES, get_capabilities),
    {0, nullptr},
};

}  // namespace
}  // namespace pqedge::fast

extern "C" __attribute__((visibility("default"))) int OSSL_provider_init(
    const OSSL_CORE_HANDLE* handle, const OSSL_DISPATCH* in, const OSSL_DISPATCH** out,
    void** context) {
  if (!pqedge::fast::take_memory_of(in)) return 0;
  *out = pqedge::fast::kFunctions;
  *context = const_cast<void*>(static_cast<const void*>(handle));
  return 1;
}
