// Published vectors.
#include "measure/provider/known_answers.h"

#include <openssl/evp.h>

#include <cerrno>
#include <format>

#include "measure/provider/catalogue.h"

namespace pqedge::measure {

namespace {

using Buffer = std::vector<uint8_t>;

Buffer digest(const EVP_MD* type, Bytes bytes) {
  Buffer out(static_cast<size_t>(EVP_MD_get_size(type)));
  unsigned length = 0;
  EVP_Digest(bytes.data(), bytes.size(), out.data(), &length, type, nullptr);
  return out;
}

Answer failed(std::string detail) { return {true, false, std::move(detail)}; }
// Not offered, or refused.
Answer no_input(const Error& error) {
  if (error.code == ENOTSUP) return {false, false, error.message};
  return failed(error.message);
}
Answer compare(const Buffer& got, const Buffer& expected, std::string_view what) {
  if (got == expected) return {true, true, {}};
  return failed(std::format("another {} than the vector's", what));
}

// Of the vector; empty where it has none of that name.
const Buffer& value(const Vector& vector, const char* name) {
  static const Buffer none;
  auto found = vector.values.find(name);
  return found == vector.values.end() ? none : found->second;
}

template <typename Scheme>
Answer put_keygen(Scheme& scheme, const Vector& vector) {
  auto pair = scheme.from_seed(value(vector, "seed"));
  if (!pair) return no_input(pair.error());
  auto key = (*pair)->public_key();
  if (!key) return failed(key.error().message);
  return compare(digest(EVP_sha256(), *key), value(vector, "public_sha256"), "public key");
}

Answer put_decapsulate(Kem& kem, const Vector& vector) {
  auto pair = kem.from_private(value(vector, "private"));
  if (!pair) return no_input(pair.error());
  Buffer secret;
  auto done = (*pair)->decapsulate(value(vector, "ciphertext"), secret);
  if (!done) return failed(done.error().message);
  return compare(secret, value(vector, "secret"), "secret");
}

Answer put_agree(KeyAgreement& agreement, const Vector& vector) {
  auto pair = agreement.from_private(value(vector, "private"));
  if (!pair) return no_input(pair.error());
  Buffer secret;
  auto done = (*pair)->derive(value(vector, "peer"), secret);
  if (!done) return failed(done.error().message);
  return compare(secret, value(vector, "secret"), "secret");
}

// The signature fits, and does not when a bit of the message is changed.
Answer put_verify(Signature& scheme, const Vector& vector) {
  auto verifier = scheme.parse_public(value(vector, "public"));
  if (!verifier) return failed(verifier.error().message);
  auto message = value(vector, "message");
  auto fits = (*verifier)->verify(message, value(vector, "signature"));
  if (!fits) return failed(fits.error().message);
  if (!*fits) return failed("the vector's signature is refused");
  message.front() ^= 1;
  fits = (*verifier)->verify(message, value(vector, "signature"));
  if (fits && *fits) return failed("a changed message is accepted");
  return {true, true, {}};
}

Answer put_sign_deterministic(Signature& scheme, const Vector& vector) {
  const auto& private_key = value(vector, "private");
  auto signature = scheme.sign_deterministic(private_key, value(vector, "message"));
  if (!signature) return no_input(signature.error());
  const auto* hash = vector.algorithm.contains("SHAKE") ? EVP_sha3_256() : EVP_sha256();
  auto answer = compare(digest(hash, *signature), value(vector, "signature_digest"), "signature");
  if (!answer.passed) return answer;
  // FIPS 205 figure 15: the private key ends with the public one.
  Bytes public_key = Bytes(private_key).last(private_key.size() / 2);
  auto verifier = scheme.parse_public(public_key);
  if (!verifier) return failed(verifier.error().message);
  auto fits = (*verifier)->verify(value(vector, "message"), *signature);
  if (!fits || !*fits) return failed("the vector's signature is refused");
  // And that of figure 18: the seed is what comes before the root.
  auto pair = scheme.from_seed(Bytes(private_key).first(private_key.size() / 4 * 3));
  if (!pair) return answer;
  auto made = (*pair)->public_key();
  if (!made) return failed(made.error().message);
  return compare(*made, Buffer(public_key.begin(), public_key.end()), "public key");
}

Answer put_seal(Provider& provider, const Vector& vector) {
  auto aead = provider.aead_with(vector.algorithm, value(vector, "key"), value(vector, "iv"));
  if (!aead) return {false, false, "the library takes no key"};
  Buffer sealed, opened;
  auto done = aead->seal(value(vector, "plaintext"), value(vector, "associated"), sealed);
  if (!done) return failed(done.error().message);
  auto answer = compare(sealed, value(vector, "sealed"), "ciphertext or tag");
  if (!answer.passed) return answer;
  done = aead->open(sealed, value(vector, "associated"), opened);
  if (!done) return failed(done.error().message);
  return compare(opened, value(vector, "plaintext"), "plaintext");
}

Answer put_nist_kat(Provider& provider, const Vector& vector) {
  auto response = provider.nist_response(vector.algorithm);
  if (!response) return no_input(response.error());
  return compare(digest(EVP_sha256(), as_bytes(*response)), value(vector, "response_sha256"),
                 "response");
}

}  // namespace

Answer put(Provider& provider, const Vector& vector) {
  const auto* entry = find_algorithm(vector.algorithm);
  if (!entry) return failed("the vector's algorithm is unknown");
  if (vector.check == "nist_kat") return put_nist_kat(provider, vector);
  if (vector.check == "seal") return put_seal(provider, vector);
  if (entry->kind == Kind::kem) {
    auto kem = provider.kem(vector.algorithm);
    if (!kem) return failed("the provider does not make it");
    if (vector.check == "keygen") return put_keygen(*kem, vector);
    if (vector.check == "decapsulate") return put_decapsulate(*kem, vector);
  } else if (entry->kind == Kind::key_agreement) {
    auto agreement = provider.key_agreement(vector.algorithm);
    if (!agreement) return failed("the provider does not make it");
    if (vector.check == "agree") return put_agree(*agreement, vector);
  } else if (entry->kind == Kind::signature) {
    auto scheme = provider.signature(vector.algorithm);
    if (!scheme) return failed("the provider does not make it");
    if (vector.check == "keygen") return put_keygen(*scheme, vector);
    if (vector.check == "verify") return put_verify(*scheme, vector);
    if (vector.check == "sign_deterministic") return put_sign_deterministic(*scheme, vector);
  }
  return failed(std::format("a vector of {} cannot check '{}'", vector.algorithm, vector.check));
}

}  // namespace pqedge::measure
