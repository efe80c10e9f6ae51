#include "measure/chain/algorithm.h"

#include <openssl/ec.h>
#include <openssl/rsa.h>

#include <array>

namespace pqedge::measure {
namespace {

// Schemes: RFC 8446 4.2.3 and, for ML-DSA, the TLS registry (draft-ietf-tls-mldsa). SLH-DSA has
// code points in drafts only, and OpenSSL 3.5 implements none. Sizes: FIPS 204 table 2, FIPS 205
// table 2.
constexpr std::array<ChainAlgorithm, 8> kAlgorithms{{
    {"ECDSA-P256", "ECDSA P-256", 0x0403, 71, true},
    {"RSA-2048", "RSA-2048", 0x0401, 256, true},
    {"RSA-3072", "RSA-3072", 0x0401, 384, true},
    {"ML-DSA-44", "ML-DSA-44", 0x0904, 2420, true},
    {"ML-DSA-65", "ML-DSA-65", 0x0905, 3309, true},
    {"ML-DSA-87", "ML-DSA-87", 0x0906, 4627, true},
    {"SLH-DSA-SHA2-128s", "SLH-DSA-SHA2-128s", 0, 7856, false},
    {"SLH-DSA-SHAKE-128s", "SLH-DSA-SHAKE-128s", 0, 7856, false},
}};

}  // namespace

std::span<const ChainAlgorithm> chain_algorithms() { return kAlgorithms; }

Result<const ChainAlgorithm*> find_chain_algorithm(std::string_view name) {
  std::string known;
  for (const ChainAlgorithm& algorithm : kAlgorithms) {
    if (algorithm.name == name) return &algorithm;
    if (!known.empty()) known += ", ";
    known += algorithm.name;
  }
  return fail("'{}' is no algorithm that chains are made of: {}", name, known);
}

Result<crypto::KeyPtr> make_chain_key(const ChainAlgorithm& algorithm) {
  crypto::clear_errors();
  crypto::KeyPtr key;
  if (algorithm.name == "ECDSA-P256") {
    key.reset(EVP_EC_gen("P-256"));
  } else if (algorithm.name == "RSA-2048") {
    key.reset(EVP_RSA_gen(2048));
  } else if (algorithm.name == "RSA-3072") {
    key.reset(EVP_RSA_gen(3072));
  } else {
    key.reset(EVP_PKEY_Q_keygen(nullptr, nullptr, std::string(algorithm.name).c_str()));
  }
  if (key == nullptr) {
    return fail("cannot make a key of {}: {}", algorithm.name, crypto::take_openssl_error());
  }
  return key;
}

const EVP_MD* signing_digest(const ChainAlgorithm& algorithm) {
  const bool classical = algorithm.name.starts_with("ECDSA") || algorithm.name.starts_with("RSA");
  return classical ? EVP_sha256() : nullptr;
}

}  // namespace pqedge::measure
