// pqedge-fast.so: ML-KEM, X25519 and ML-DSA of vector code, and a quicker way to HKDF, as an
// OpenSSL provider (src/fastcrypto).
#pragma once

#include <string>

#include "base/result.h"

namespace pqedge::crypto {

// The name of the provider and the property that its algorithms have.
inline constexpr const char* kFastProvider = "pqedge-fast";
inline constexpr const char* kFastProperties = "?provider=pqedge-fast";

// For a comparison of the two: one or the other, or nothing.
inline constexpr const char* kFastAlone = "provider=pqedge-fast";
inline constexpr const char* kOpensslAlone = "provider=default";

// Where it may be without being named: beside this program, or in ../lib/pqedge. Empty: nowhere.
std::string find_fast_provider();

// Loads it into the default library context; what it offers is then there for those who ask for
// kFastProperties. Returns its version. Error: the file is missing or is not such a module.
Result<std::string> load_fast_provider(const std::string& path);

// Compares what it computes with published values (NIST's ACVP for ML-KEM and ML-DSA, RFC 7748 for
// X25519, RFC 5869 and RFC 8448 for HKDF), and all of it with OpenSSL's. Error: the first
// difference; then it must not be used.
Result<void> check_fast_provider();

}  // namespace pqedge::crypto
