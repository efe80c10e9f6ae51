// PQClean's C code. Its keys are plain bytes: every operation takes them apart, and expands what it
// needs, anew. That time is in the operation's own.
#include <openssl/crypto.h>

#include <algorithm>
#include <format>

#include "measure/provider/catalogue.h"
#include "measure/provider/libraries.h"
#include "measure/provider/pqclean.h"
#include "measure/provider/pqclean_random.h"

namespace pqedge::measure {

namespace pqclean {

namespace {

using Buffer = std::vector<uint8_t>;

Result<void> check(int result, std::string_view what) {
  if (result != 0) return fail("PQClean: {} failed", what);
  return {};
}

Buffer copy_of(Bytes bytes) { return {bytes.begin(), bytes.end()}; }

// A private key, wiped when it ends.
struct Secret {
  explicit Secret(Buffer value) : bytes(std::move(value)) {}
  ~Secret() { OPENSSL_cleanse(bytes.data(), bytes.size()); }
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  Buffer bytes;
};

class KemPublic final : public KemPublicKey {
 public:
  KemPublic(const KemFunctions& kem, Bytes key) : kem_(kem), key_(copy_of(key)) {}
  Result<void> encapsulate(Buffer& ciphertext, Buffer& secret) override {
    auto sizes = sizes_of(kem_.name);
    ciphertext.resize(sizes.output);
    secret.resize(sizes.secret);
    return check(kem_.encapsulate(ciphertext.data(), secret.data(), key_.data()), "encapsulation");
  }

 private:
  const KemFunctions& kem_;
  Buffer key_;
};

class KemPair final : public KemKeyPair {
 public:
  KemPair(const KemFunctions& kem, Buffer public_key, Buffer private_key)
      : kem_(kem),
        sizes_(sizes_of(kem.name)),
        public_(std::move(public_key)),
        private_(std::move(private_key)) {}
  Result<Buffer> public_key() const override {
    if (public_.empty()) return fail("only the private key is known");
    return public_;
  }
  Result<void> decapsulate(Bytes ciphertext, Buffer& secret) override {
    if (ciphertext.size() != sizes_.output) {
      return fail("a ciphertext of {} has {} bytes", kem_.name, sizes_.output);
    }
    secret.resize(sizes_.secret);
    return check(kem_.decapsulate(secret.data(), ciphertext.data(), private_.bytes.data()),
                 "decapsulation");
  }

 private:
  const KemFunctions& kem_;
  Sizes sizes_;
  Buffer public_;
  Secret private_;
};

class PqcleanKem final : public Kem {
 public:
  explicit PqcleanKem(const KemFunctions& kem) : kem_(kem), sizes_(sizes_of(kem.name)) {}

  Result<std::unique_ptr<KemKeyPair>> generate() override {
    Buffer public_key(sizes_.public_key), private_key(sizes_.private_key);
    auto made = check(kem_.keypair(public_key.data(), private_key.data()), "key generation");
    if (!made) return std::unexpected(made.error());
    return std::make_unique<KemPair>(kem_, std::move(public_key), std::move(private_key));
  }
  Result<std::unique_ptr<KemPublicKey>> parse_public(Bytes encoded) override {
    if (encoded.size() != sizes_.public_key) {
      return fail("a public key of {} has {} bytes", kem_.name, sizes_.public_key);
    }
    return std::make_unique<KemPublic>(kem_, encoded);
  }
  Sizes sizes() const override { return sizes_; }
  Result<std::unique_ptr<KemKeyPair>> from_seed(Bytes seed) override {
    if (seed.size() != 64 || !std::string_view(kem_.name).starts_with("ML-KEM-")) {
      return not_offered("only ML-KEM has a seed, of 64 bytes");
    }
    FixedRandom fixed(bytes_once(seed));
    return generate();
  }
  Result<std::unique_ptr<KemKeyPair>> from_private(Bytes encoded) override {
    if (encoded.size() != sizes_.private_key) {
      return fail("a private key of {} has {} bytes", kem_.name, sizes_.private_key);
    }
    return std::make_unique<KemPair>(kem_, Buffer{}, copy_of(encoded));
  }

 private:
  const KemFunctions& kem_;
  Sizes sizes_;
};

class KeyVerifier final : public Verifier {
 public:
  KeyVerifier(const SignatureFunctions& scheme, Bytes key) : scheme_(scheme), key_(copy_of(key)) {}
  Result<bool> verify(Bytes message, Bytes signature) override {
    return scheme_.verify(signature.data(), signature.size(), message.data(), message.size(),
                          key_.data()) == 0;
  }

 private:
  const SignatureFunctions& scheme_;
  Buffer key_;
};

class SignaturePair final : public SignatureKeyPair {
 public:
  SignaturePair(const SignatureFunctions& scheme, Buffer public_key, Buffer private_key)
      : scheme_(scheme),
        longest_(sizes_of(scheme.name).output),
        public_(std::move(public_key)),
        private_(std::move(private_key)) {}
  Result<Buffer> public_key() const override { return public_; }
  Result<void> sign(Bytes message, Buffer& signature) override {
    size_t length = longest_;
    signature.resize(length);
    auto done = check(scheme_.signature(signature.data(), &length, message.data(), message.size(),
                                        private_.bytes.data()),
                      "signature");
    signature.resize(length);
    return done;
  }

 private:
  const SignatureFunctions& scheme_;
  size_t longest_;
  Buffer public_;
  Secret private_;
};

class PqcleanSignature final : public Signature {
 public:
  explicit PqcleanSignature(const SignatureFunctions& scheme)
      : scheme_(scheme), sizes_(sizes_of(scheme.name)) {}

  Result<std::unique_ptr<SignatureKeyPair>> generate() override {
    Buffer public_key(sizes_.public_key), private_key(sizes_.private_key);
    auto made = check(scheme_.keypair(public_key.data(), private_key.data()), "key generation");
    if (!made) return std::unexpected(made.error());
    return std::make_unique<SignaturePair>(scheme_, std::move(public_key), std::move(private_key));
  }
  Result<std::unique_ptr<Verifier>> parse_public(Bytes encoded) override {
    if (encoded.size() != sizes_.public_key) {
      return fail("a public key of {} has {} bytes", scheme_.name, sizes_.public_key);
    }
    return std::make_unique<KeyVerifier>(scheme_, encoded);
  }
  Sizes sizes() const override { return sizes_; }
  Result<std::unique_ptr<SignatureKeyPair>> from_seed(Bytes seed) override {
    if (seed.size() != 32 || !std::string_view(scheme_.name).starts_with("ML-DSA-")) {
      return not_offered("only ML-DSA has a seed, of 32 bytes");
    }
    FixedRandom fixed(bytes_once(seed));
    return generate();
  }

 private:
  const SignatureFunctions& scheme_;
  Sizes sizes_;
};

template <typename Functions>
const Functions* find(std::span<const Functions> all, std::string_view name) {
  auto found = std::ranges::find_if(all, [&](const auto& one) { return name == one.name; });
  return found == all.end() ? nullptr : &*found;
}

class Pqclean final : public Provider {
 public:
  ProviderFacts facts() const override { return {"PQClean", PQCOST_PQCLEAN_VERSION}; }

  std::vector<Algorithm> algorithms() const override {
    std::vector<Algorithm> all;
    for (const auto& one : kems()) all.push_back(algorithm_of(one.name));
    for (const auto& one : signatures()) all.push_back(algorithm_of(one.name));
    return all;
  }
  Implementation implementation(std::string_view algorithm) const override {
    return {.code = algorithm.starts_with("Falcon-")
                        ? "portable C, floating point emulated with integers"
                        : "portable C",
            .evidence = std::format("the 'clean' sources of npm package pqclean {}, compiled by {} "
                                    "with -O3 for the architecture's baseline",
                                    PQCOST_PQCLEAN_VERSION, PQCOST_PQCLEAN_COMPILER),
            .keys = "bytes, taken apart and expanded in each operation"};
  }
  std::unique_ptr<Kem> kem(std::string_view algorithm) override {
    const auto* one = find(kems(), algorithm);
    return one ? std::make_unique<PqcleanKem>(*one) : nullptr;
  }
  std::unique_ptr<KeyAgreement> key_agreement(std::string_view) override { return nullptr; }
  std::unique_ptr<Signature> signature(std::string_view algorithm) override {
    const auto* one = find(signatures(), algorithm);
    return one ? std::make_unique<PqcleanSignature>(*one) : nullptr;
  }
  std::unique_ptr<Aead> aead(std::string_view) override { return nullptr; }
  Result<std::string> nist_response(std::string_view algorithm) override {
    if (const auto* one = find(kems(), algorithm)) return pqclean::nist_response(*one);
    if (const auto* one = find(signatures(), algorithm)) return pqclean::nist_response(*one);
    return fail("PQClean: {} is not offered", algorithm);
  }
};

}  // namespace

}  // namespace pqclean

Result<std::unique_ptr<Provider>> make_pqclean() { return std::make_unique<pqclean::Pqclean>(); }

}  // namespace pqedge::measure
