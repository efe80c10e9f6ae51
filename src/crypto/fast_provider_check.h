// What the known answers of pqedge-fast.so are checked with.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "crypto/handles.h"

namespace pqedge::crypto::fast_check {

using Octets = std::vector<uint8_t>;
using ContextPtr = std::unique_ptr<EVP_PKEY_CTX, FreeWith<EVP_PKEY_CTX_free>>;

Octets octets_of(std::string_view hex);

bool has_sha256(const Octets& bytes, std::string_view hex);

// A key of the provider that `properties` name, from one of its parts (OSSL_PKEY_PARAM_...); null:
// it is refused.
KeyPtr import_key(const char* name, const char* properties, const char* part, Octets bytes);

// One of its parts; empty: it has none.
Octets part_of(const KeyPtr& key, const char* part);

bool is_fast(const OSSL_PROVIDER* provider);

// HKDF (RFC 5869) and TLS 1.3's key schedule (RFC 8446 7.1).
Result<void> check_derivation();

// ML-DSA (FIPS 204), and keys of OpenSSL's own provider signing with it, as TLS has them.
Result<void> check_signatures();

}  // namespace pqedge::crypto::fast_check
