// One interface for the primitives that pqcost times, whichever library does them (M11).
//
// All calls may fail with a message from the library. Keys own their memory and wipe secrets when
// they end. Nothing here is shared between threads: each thread makes its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace pqedge::measure {

enum class Kind : uint8_t { kem, key_agreement, signature, aead };

// What an algorithm's security rests on; RSA and ECDSA are classical, never lattice.
enum class Family : uint8_t {
  classical,
  lattice,
  hybrid,         // classical and lattice together, as one algorithm of a library
  hash_based,     // stateless: SLH-DSA
  stateful_hash,  // LMS, XMSS
  code_based,
  symmetric,
};
std::string_view family_name(Family family);  // "classical", "lattice", ...

// The error of from_seed(), from_private() and the like where the library has no way: its code is
// ENOTSUP. Any other error says that the library refuses what it was given.
std::unexpected<Error> not_offered(std::string_view why);

// Names are spelt as their standards do: "X25519", "P-256", "P-384", "MODP-2048" (RFC 3526),
// "ffdhe2048" (RFC 7919), "ML-KEM-768", "sntrup761", "X25519MLKEM768" (a library's own hybrid),
// "ML-DSA-65", "Falcon-512 (round 3)", "SLH-DSA-SHAKE-128s", "RSA-2048-PSS", "ECDSA-P256",
// "Ed25519", "LMS-SHA256-M32-H10", "XMSS-SHA2_10_256", "AES-256-GCM", "ChaCha20-Poly1305",
// "HQC-128 (round 4)". catalogue.h has them all, with their sizes.
struct Algorithm {
  std::string name;
  Kind kind;
  Family family;
};

// Raw encodings, in bytes; `spki_bytes` is the X.509 SubjectPublicKeyInfo where one is defined.
struct Sizes {
  size_t public_key = 0;
  size_t private_key = 0;
  size_t output = 0;  // ciphertext, or the largest signature
  size_t secret = 0;  // shared secret
  std::optional<size_t> spki;
};

// ---- key encapsulation (FIPS 203 and others) ----------------------------------------------------

class KemPublicKey {
 public:
  virtual ~KemPublicKey() = default;
  // Ciphertext and secret are resized to their lengths.
  virtual Result<void> encapsulate(std::vector<uint8_t>& ciphertext,
                                   std::vector<uint8_t>& secret) = 0;
};

class KemKeyPair {
 public:
  virtual ~KemKeyPair() = default;
  virtual Result<std::vector<uint8_t>> public_key() const = 0;
  virtual Result<void> decapsulate(Bytes ciphertext, std::vector<uint8_t>& secret) = 0;
};

class Kem {
 public:
  virtual ~Kem() = default;
  virtual Result<std::unique_ptr<KemKeyPair>> generate() = 0;
  // Parses (and, where the library does it then, expands) a peer's encoded key: not in the
  // encapsulation's own time. Sizes are the algorithm's fixed ones.
  virtual Result<std::unique_ptr<KemPublicKey>> parse_public(Bytes encoded) = 0;
  virtual Sizes sizes() const = 0;
  // For known answers: the key pair of FIPS 203's seed (d || z), or of an encoded private key.
  // None where the library offers no way.
  virtual Result<std::unique_ptr<KemKeyPair>> from_seed(Bytes seed) = 0;
  virtual Result<std::unique_ptr<KemKeyPair>> from_private(Bytes encoded) = 0;
};

// ---- key agreement (RFC 7748, NIST SP 800-56A) --------------------------------------------------

class AgreementKeyPair {
 public:
  virtual ~AgreementKeyPair() = default;
  // X25519: 32 bytes. NIST curves: the uncompressed point (0x04 || x || y). Finite-field groups:
  // big-endian, as long as the prime.
  virtual Result<std::vector<uint8_t>> public_key() const = 0;
  // Takes the peer's encoded key, as a handshake does: parsing it is in the derivation's time.
  virtual Result<void> derive(Bytes peer_public, std::vector<uint8_t>& secret) = 0;
};

class KeyAgreement {
 public:
  virtual ~KeyAgreement() = default;
  virtual Result<std::unique_ptr<AgreementKeyPair>> generate() = 0;
  virtual Result<std::unique_ptr<AgreementKeyPair>> from_private(Bytes scalar) = 0;
  virtual Sizes sizes() const = 0;
};

// ---- signatures ---------------------------------------------------------------------------------

class Verifier {
 public:
  virtual ~Verifier() = default;
  virtual Result<bool> verify(Bytes message, Bytes signature) = 0;  // false: it does not fit
};

class SignatureKeyPair {
 public:
  virtual ~SignatureKeyPair() = default;
  virtual Result<std::vector<uint8_t>> public_key() const = 0;  // raw, not SPKI (RSA: PKCS #1 DER)
  virtual Result<void> sign(Bytes message, std::vector<uint8_t>& signature) = 0;
};

class Signature {
 public:
  virtual ~Signature() = default;
  virtual Result<std::unique_ptr<SignatureKeyPair>> generate() = 0;
  virtual Result<std::unique_ptr<Verifier>> parse_public(Bytes encoded) = 0;  // as public_key()
  virtual Sizes sizes() const = 0;
  // For known answers. A key pair from the standard's seed: 32 bytes of FIPS 204, SK.seed, SK.prf
  // and PK.seed of FIPS 205, 32 bytes of RFC 8032.
  virtual Result<std::unique_ptr<SignatureKeyPair>> from_seed(Bytes seed);
  // FIPS 204's and FIPS 205's deterministic variant, with an encoded private key. What is timed is
  // the hedged one, the default of both.
  virtual Result<std::vector<uint8_t>> sign_deterministic(Bytes private_key, Bytes message);
  // Whether a key signs only so many times (LMS, XMSS): the runner makes keys anew.
  virtual std::optional<uint64_t> signatures_left_when_new() const { return std::nullopt; }
};

// ---- authenticated encryption -------------------------------------------------------------------

class Aead {
 public:
  virtual ~Aead() = default;
  // Encrypts in a context that is keyed already. The nonce is that of a TLS 1.3 record: the IV with
  // the sequence number, which counts the seals from 0, XORed into its end (RFC 8446 5.3). `out` is
  // the ciphertext and the tag of 16 bytes.
  virtual Result<void> seal(Bytes plaintext, Bytes associated, std::vector<uint8_t>& out) = 0;
  // Opens what was sealed last, as often as it is asked; an error if it was changed.
  virtual Result<void> open(Bytes sealed, Bytes associated, std::vector<uint8_t>& out) = 0;
};

// ---- a library ----------------------------------------------------------------------------------

struct ProviderFacts {
  std::string name;  // "OpenSSL", "Botan", "wolfSSL", "libgcrypt", "PQClean", "liboqs", "AWS-LC"
  std::string version;
};

// The code that runs for an algorithm, as far as it can be known.
struct Implementation {
  std::string code = "unknown";  // "portable C", "AVX2 assembly", ...
  std::string evidence;          // how that is known
  std::string keys;              // "parsed at import", "expanded at first use", ...
};

class Provider {
 public:
  virtual ~Provider() = default;
  virtual ProviderFacts facts() const = 0;
  virtual std::vector<Algorithm> algorithms() const = 0;  // only what this build really can do
  virtual Implementation implementation(std::string_view algorithm) const = 0;
  // Null: not offered.
  virtual std::unique_ptr<Kem> kem(std::string_view algorithm) = 0;
  virtual std::unique_ptr<KeyAgreement> key_agreement(std::string_view algorithm) = 0;
  virtual std::unique_ptr<Signature> signature(std::string_view algorithm) = 0;
  virtual std::unique_ptr<Aead> aead(std::string_view algorithm) = 0;  // with a random key and IV
  virtual std::unique_ptr<Aead> aead_with(std::string_view algorithm, Bytes key, Bytes iv);
  // The first record of NIST's response file (count 0, seeded with bytes 0 to 47) for schemes that
  // have no other published answer. An error where the random source cannot be replaced.
  virtual Result<std::string> nist_response(std::string_view algorithm);
};

}  // namespace pqedge::measure
