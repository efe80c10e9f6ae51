// Known answers of pqedge-fast.so's HKDF and of TLS 1.3's key schedule, at start: published values,
// and OpenSSL's own code over each hash and each way to ask.
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <format>
#include <vector>

#include "base/text.h"
#include "crypto/fast_provider.h"
#include "crypto/fast_provider_check.h"
#include "crypto/handles.h"

namespace pqedge::crypto::fast_check {
namespace {

struct KdfPart {
  const char* name;
  std::string octets;
};

struct Question {
  const char* kdf;
  const char* hash;
  int mode;
  size_t size;
  std::vector<KdfPart> parts;
};

// Empty: it fails.
std::string derive(const Question& question, const char* properties) {
  const std::unique_ptr<EVP_KDF, FreeWith<EVP_KDF_free>> kdf(
      EVP_KDF_fetch(nullptr, question.kdf, properties));
  const std::unique_ptr<EVP_KDF_CTX, FreeWith<EVP_KDF_CTX_free>> context(
      EVP_KDF_CTX_new(kdf.get()));
  if (context == nullptr) return {};
  int mode = question.mode;
  std::vector<OSSL_PARAM> params = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, const_cast<char*>(question.hash), 0),
      OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode)};
  for (const KdfPart& part : question.parts) {
    params.push_back(OSSL_PARAM_construct_octet_string(
        part.name, const_cast<char*>(part.octets.data()), part.octets.size()));
  }
  params.push_back(OSSL_PARAM_construct_end());
  std::string out(question.size, '\0');
  auto* bytes = reinterpret_cast<unsigned char*>(out.data());
  return EVP_KDF_derive(context.get(), bytes, out.size(), params.data()) == 1 ? out : std::string();
}

std::string hex(std::string_view text) { return from_hex(text).value_or(std::string()); }

// RFC 5869 A.1, and RFC 8448 3: the early secret of a handshake without a pre-shared key, and what
// is derived from it for the next.
struct Known {
  const char* source;
  Question question;
  std::string_view answer;
};

std::vector<Known> published() {
  const std::string early = hex("33ad0a1c607ec03b09e6cd9893680ce210adf300aa1f2660e1b22e10f170f92a");
  const std::string nothing =
      hex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  return {
      {"RFC 5869 A.1",
       {"HKDF",
        "SHA2-256",
        EVP_KDF_HKDF_MODE_EXTRACT_AND_EXPAND,
        42,
        {{OSSL_KDF_PARAM_KEY, std::string(22, '\x0b')},
         {OSSL_KDF_PARAM_SALT, hex("000102030405060708090a0b0c")},
         {OSSL_KDF_PARAM_INFO, hex("f0f1f2f3f4f5f6f7f8f9")}}},
       "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"},
      {"RFC 8448 3, the early secret",
       {"TLS13-KDF", "SHA2-256", EVP_KDF_HKDF_MODE_EXTRACT_ONLY, 32, {}},
       "33ad0a1c607ec03b09e6cd9893680ce210adf300aa1f2660e1b22e10f170f92a"},
      {"RFC 8448 3, derived for the handshake",
       {"TLS13-KDF",
        "SHA2-256",
        EVP_KDF_HKDF_MODE_EXPAND_ONLY,
        32,
        {{OSSL_KDF_PARAM_KEY, early},
         {OSSL_KDF_PARAM_PREFIX, "tls13 "},
         {OSSL_KDF_PARAM_LABEL, "derived"},
         {OSSL_KDF_PARAM_DATA, nothing}}},
       "6f2615a108c702c5678f54fc9dbab69716c076189c48250cebeac3576c3611ba"},
  };
}

// Each way to ask, of one hash.
std::vector<Question> questions(const char* hash, size_t size) {
  const KdfPart key = {OSSL_KDF_PARAM_KEY, std::string(size, 'k')};
  const KdfPart long_key = {OSSL_KDF_PARAM_KEY, std::string(200, 'K')};
  const KdfPart salt = {OSSL_KDF_PARAM_SALT, std::string(size, 's')};
  const KdfPart info = {OSSL_KDF_PARAM_INFO, std::string(80, 'i')};
  const KdfPart prefix = {OSSL_KDF_PARAM_PREFIX, "tls13 "};
  const KdfPart label = {OSSL_KDF_PARAM_LABEL, "derived"};
  const KdfPart data = {OSSL_KDF_PARAM_DATA, std::string(size, 'd')};
  constexpr int both = EVP_KDF_HKDF_MODE_EXTRACT_AND_EXPAND;
  constexpr int extract = EVP_KDF_HKDF_MODE_EXTRACT_ONLY;
  constexpr int expand = EVP_KDF_HKDF_MODE_EXPAND_ONLY;
  return {
      {"HKDF", hash, both, 3 * size + 1, {key, salt, info}},
      {"HKDF", hash, both, size, {long_key}},
      {"HKDF", hash, extract, size, {long_key, salt}},
      {"HKDF", hash, expand, 12, {key, info}},
      {"TLS13-KDF", hash, extract, size, {salt, prefix, label}},
      {"TLS13-KDF", hash, extract, size, {long_key, salt, prefix, label}},
      {"TLS13-KDF", hash, expand, size, {key, prefix, label, data}},
      {"TLS13-KDF", hash, expand, 12, {key, prefix, {OSSL_KDF_PARAM_LABEL, "iv"}}},
      // And what is no question.
      {"HKDF", hash, extract, size + 1, {key, salt}},
      {"HKDF", hash, expand, 256 * size, {key, info}},
      {"HKDF", hash, expand, size, {info}},
      {"TLS13-KDF", hash, extract, size - 1, {key, salt, prefix, label}},
      {"TLS13-KDF", hash, expand, size, {prefix, label, data}},
      {"TLS13-KDF", hash, both, size, {key, prefix, label, data}},
  };
}

}  // namespace

Result<void> check_derivation() {
  for (const Known& known : published()) {
    if (derive(known.question, kFastAlone) != hex(known.answer)) return fail("{}", known.source);
  }
  constexpr std::pair<const char*, size_t> hashes[] = {
      {"SHA2-256", 32}, {"SHA2-384", 48}, {"SHA2-512", 64}};
  for (const auto& [hash, size] : hashes) {
    for (const Question& question : questions(hash, size)) {
      if (derive(question, kFastAlone) == derive(question, kOpensslAlone)) continue;
      return fail("{} with {}: agreement with OpenSSL", question.kdf, hash);
    }
  }
  return {};
}

}  // namespace pqedge::crypto::fast_check
