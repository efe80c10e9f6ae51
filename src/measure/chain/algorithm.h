// The key algorithms that chains are made of.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "crypto/handles.h"

namespace pqedge::measure {

struct ChainAlgorithm {
  std::string_view name;   // as ChainSpec writes it
  std::string_view shown;  // as names of chains write it
  // The SignatureScheme or, for SCTs, the SignatureAndHashAlgorithm of RFC 5246 7.4.1.4.1, which
  // shares its registry. 0: there is none.
  uint16_t scheme;
  size_t signature;  // bytes; ECDSA: of the most likely DER encoding, 70 to 72 occur
  bool tls_leaf;     // OpenSSL can sign a TLS handshake with such a key
};

std::span<const ChainAlgorithm> chain_algorithms();

// By name; the error of an unknown name lists the known ones.
Result<const ChainAlgorithm*> find_chain_algorithm(std::string_view name);

Result<crypto::KeyPtr> make_chain_key(const ChainAlgorithm& algorithm);

// What X509_sign() and OCSP_basic_sign() are given: null where the scheme hashes by itself.
const EVP_MD* signing_digest(const ChainAlgorithm& algorithm);

}  // namespace pqedge::measure
