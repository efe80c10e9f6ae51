// The functions of PQClean's schemes, and the first record of NIST's response files from them.
#include "measure/provider/pqclean.h"

#include <format>
#include <vector>

#include "measure/provider/catalogue.h"
#include "measure/provider/pqclean_random.h"

extern "C" {
#define PQCLEAN_KEM(id)                                                        \
  int PQCLEAN_##id##_CLEAN_crypto_kem_keypair(uint8_t*, uint8_t*);             \
  int PQCLEAN_##id##_CLEAN_crypto_kem_enc(uint8_t*, uint8_t*, const uint8_t*); \
  int PQCLEAN_##id##_CLEAN_crypto_kem_dec(uint8_t*, const uint8_t*, const uint8_t*);
#define PQCLEAN_SIGN(id)                                                                      \
  int PQCLEAN_##id##_CLEAN_crypto_sign_keypair(uint8_t*, uint8_t*);                           \
  int PQCLEAN_##id##_CLEAN_crypto_sign_signature(uint8_t*, size_t*, const uint8_t*, size_t,   \
                                                 const uint8_t*);                             \
  int PQCLEAN_##id##_CLEAN_crypto_sign_verify(const uint8_t*, size_t, const uint8_t*, size_t, \
                                              const uint8_t*);                                \
  int PQCLEAN_##id##_CLEAN_crypto_sign(uint8_t*, size_t*, const uint8_t*, size_t, const uint8_t*);
PQCLEAN_KEM(MLKEM512)
PQCLEAN_KEM(MLKEM768)
PQCLEAN_KEM(MLKEM1024)
PQCLEAN_KEM(HQC128)
PQCLEAN_KEM(HQC192)
PQCLEAN_KEM(HQC256)
PQCLEAN_SIGN(MLDSA44)
PQCLEAN_SIGN(MLDSA65)
PQCLEAN_SIGN(MLDSA87)
PQCLEAN_SIGN(FALCON512)
PQCLEAN_SIGN(FALCON1024)
PQCLEAN_SIGN(FALCONPADDED512)
PQCLEAN_SIGN(FALCONPADDED1024)
#undef PQCLEAN_KEM
#undef PQCLEAN_SIGN
}

namespace pqedge::measure::pqclean {

namespace {

#define PQCLEAN_KEM(name, id)                                                           \
  KemFunctions {                                                                        \
    name, PQCLEAN_##id##_CLEAN_crypto_kem_keypair, PQCLEAN_##id##_CLEAN_crypto_kem_enc, \
        PQCLEAN_##id##_CLEAN_crypto_kem_dec                                             \
  }
#define PQCLEAN_SIGN(name, id)                                                                  \
  SignatureFunctions {                                                                          \
    name, PQCLEAN_##id##_CLEAN_crypto_sign_keypair, PQCLEAN_##id##_CLEAN_crypto_sign_signature, \
        PQCLEAN_##id##_CLEAN_crypto_sign_verify, PQCLEAN_##id##_CLEAN_crypto_sign               \
  }

const KemFunctions kKems[] = {
    PQCLEAN_KEM("ML-KEM-512", MLKEM512),      PQCLEAN_KEM("ML-KEM-768", MLKEM768),
    PQCLEAN_KEM("ML-KEM-1024", MLKEM1024),    PQCLEAN_KEM("HQC-128 (round 4)", HQC128),
    PQCLEAN_KEM("HQC-192 (round 4)", HQC192), PQCLEAN_KEM("HQC-256 (round 4)", HQC256),
};

const SignatureFunctions kSignatures[] = {
    PQCLEAN_SIGN("ML-DSA-44", MLDSA44),
    PQCLEAN_SIGN("ML-DSA-65", MLDSA65),
    PQCLEAN_SIGN("ML-DSA-87", MLDSA87),
    PQCLEAN_SIGN("Falcon-512 (round 3)", FALCON512),
    PQCLEAN_SIGN("Falcon-1024 (round 3)", FALCON1024),
    PQCLEAN_SIGN("Falcon-512 padded (round 3)", FALCONPADDED512),
    PQCLEAN_SIGN("Falcon-1024 padded (round 3)", FALCONPADDED1024),
};

#undef PQCLEAN_KEM
#undef PQCLEAN_SIGN

constexpr size_t kEntropyLength = 48;
constexpr size_t kMessageLength = 33;  // of count 0

std::vector<uint8_t> first_entropy() {
  std::vector<uint8_t> entropy(kEntropyLength);
  for (size_t i = 0; i < entropy.size(); ++i) entropy[i] = static_cast<uint8_t>(i);
  return entropy;
}

void append_line(std::string& text, std::string_view name, Bytes value) {
  text += name;
  text += " = ";
  for (uint8_t byte : value) std::format_to(std::back_inserter(text), "{:02X}", byte);
  text += '\n';
}

template <typename Generator>
Result<std::string> kem_response(const KemFunctions& kem) {
  std::vector<uint8_t> seed(kEntropyLength);
  Generator(first_entropy()).fill(seed);
  Generator generator(seed);
  FixedRandom fixed([&generator](MutableBytes out) { generator.fill(out); });
  auto sizes = sizes_of(kem.name);
  std::vector<uint8_t> public_key(sizes.public_key), private_key(sizes.private_key),
      ciphertext(sizes.output), secret(sizes.secret);
  if (kem.keypair(public_key.data(), private_key.data()) != 0 ||
      kem.encapsulate(ciphertext.data(), secret.data(), public_key.data()) != 0) {
    return fail("PQClean: {} failed", kem.name);
  }
  std::string text = "count = 0\n";
  append_line(text, "seed", seed);
  append_line(text, "pk", public_key);
  append_line(text, "sk", private_key);
  append_line(text, "ct", ciphertext);
  append_line(text, "ss", secret);
  return text;
}

}  // namespace

std::span<const KemFunctions> kems() { return kKems; }
std::span<const SignatureFunctions> signatures() { return kSignatures; }

Result<std::string> nist_response(const KemFunctions& kem) {
  if (std::string_view(kem.name).starts_with("HQC")) return kem_response<ShakeStream>(kem);
  return kem_response<NistDrbg>(kem);
}

Result<std::string> nist_response(const SignatureFunctions& scheme) {
  NistDrbg outer(first_entropy());
  std::vector<uint8_t> seed(kEntropyLength), message(kMessageLength);
  outer.fill(seed);
  outer.fill(message);
  NistDrbg generator(seed);
  FixedRandom fixed([&generator](MutableBytes out) { generator.fill(out); });
  auto sizes = sizes_of(scheme.name);
  std::vector<uint8_t> public_key(sizes.public_key), private_key(sizes.private_key),
      signed_message(message.size() + sizes.output);
  size_t length = 0;
  if (scheme.keypair(public_key.data(), private_key.data()) != 0 ||
      scheme.sign(signed_message.data(), &length, message.data(), message.size(),
                  private_key.data()) != 0) {
    return fail("PQClean: {} failed", scheme.name);
  }
  signed_message.resize(length);
  std::string text = std::format("count = 0\n");
  append_line(text, "seed", seed);
  text += std::format("mlen = {}\n", message.size());
  append_line(text, "msg", message);
  append_line(text, "pk", public_key);
  append_line(text, "sk", private_key);
  text += std::format("smlen = {}\n", length);
  append_line(text, "sm", signed_message);
  return text;
}

}  // namespace pqedge::measure::pqclean
