// The functions of the module as OpenSSL asks for them, by operation.
#pragma once

#include <openssl/core_dispatch.h>

namespace pqedge::fast {

// keymgmt.cc
extern const OSSL_ALGORITHM kKeyManagement[];
// exchange.cc
extern const OSSL_ALGORITHM kKeyExchanges[];
// kem.cc
extern const OSSL_ALGORITHM kKems[];
// signature.cc
extern const OSSL_ALGORITHM kSignatures[];
// sigalgs.cc: as OSSL_FUNC_PROVIDER_GET_CAPABILITIES.
int get_capabilities(void*, const char* capability, OSSL_CALLBACK* take, void* argument);
// kdf.cc
extern const OSSL_ALGORITHM kKdfs[];

// The names that OpenSSL's own algorithms have, and the property by which ours are asked for.
inline constexpr const char* kProperties = "provider=pqedge-fast";
inline constexpr const char* kX25519Names = "X25519:1.3.101.110";
inline constexpr const char* kMlKem512Names =
    "ML-KEM-512:MLKEM512:id-alg-ml-kem-512:2.16.840.1.101.3.4.4.1";
inline constexpr const char* kMlKem768Names =
    "ML-KEM-768:MLKEM768:id-alg-ml-kem-768:2.16.840.1.101.3.4.4.2";
inline constexpr const char* kMlKem1024Names =
    "ML-KEM-1024:MLKEM1024:id-alg-ml-kem-1024:2.16.840.1.101.3.4.4.3";
inline constexpr const char* kHybrid768Names = "X25519MLKEM768";
inline constexpr const char* kMlDsa44Names =
    "ML-DSA-44:MLDSA44:id-ml-dsa-44:2.16.840.1.101.3.4.3.17";
inline constexpr const char* kMlDsa65Names =
    "ML-DSA-65:MLDSA65:id-ml-dsa-65:2.16.840.1.101.3.4.3.18";
inline constexpr const char* kMlDsa87Names =
    "ML-DSA-87:MLDSA87:id-ml-dsa-87:2.16.840.1.101.3.4.3.19";
inline constexpr const char* kHkdfNames = "HKDF";
inline constexpr const char* kTls13Names = "TLS13-KDF";

}  // namespace pqedge::fast
