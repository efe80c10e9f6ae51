// Signing and checking in the encodings of JSON Web Signatures.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "crypto/handles.h"

namespace pqedge::measure {

struct JoseAlgorithm {
  std::string_view shown;  // as the record names it
  std::string_view alg;    // of the header
  std::string_view key;    // "ECDSA-P256", "RSA-2048", ..., as the libraries' registry names it
  bool registered;         // with IANA; false: a draft's name
  std::string_view note;   // where the name is from
};

std::span<const JoseAlgorithm> jose_algorithms();

// One key that signs; OpenSSL's, or another library's.
class TokenSigner {
 public:
  virtual ~TokenSigner() = default;
  // In the encoding of JOSE: ES256 is R and S, 32 bytes each (RFC 7518 3.4), never DER.
  virtual Result<std::vector<uint8_t>> sign(Bytes message) = 0;
  virtual Result<bool> verify(Bytes message, Bytes signature) = 0;
};

// By OpenSSL, with a new key; fails where it has no such algorithm.
Result<std::unique_ptr<TokenSigner>> new_openssl_signer(const JoseAlgorithm& algorithm);
// ML-DSA from its 32-byte seed, the `priv` of RFC 9964's keys. `deterministic`: the variant of FIPS
// 204 3.4 without randomness, as the examples there were made.
Result<std::unique_ptr<TokenSigner>> ml_dsa_signer(const std::string& name, Bytes seed,
                                                   bool deterministic);

struct Jws {
  std::string header;  // base64url
  std::string payload;
  std::string signature;
  size_t signature_raw = 0;
  std::string compact() const { return header + "." + payload + "." + signature; }
};

// Signs {"alg":ALG,"typ":"JWT"} and the claims, and checks its own signature.
Result<Jws> sign_token(TokenSigner& signer, std::string_view alg, std::string_view claims);

// Whether a compact token is signed by this key. An error: it is not three parts of base64url.
Result<bool> verify_token(TokenSigner& signer, std::string_view compact);

}  // namespace pqedge::measure
