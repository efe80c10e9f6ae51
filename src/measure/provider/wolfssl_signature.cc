#include <wolfssl/options.h>

#include <wolfssl/wolfcrypt/hash.h>

#include "measure/provider/catalogue.h"
#include "measure/provider/wolfssl.h"
#include "measure/provider/wolfssl_handles.h"

namespace pqedge::measure::wolf {

namespace {

using Buffer = std::vector<uint8_t>;

struct Scheme {
  const char* name;
  int curve;
  wc_HashType hash;
};

constexpr Scheme kEcdsa[] = {{"ECDSA-P256", ECC_SECP256R1, WC_HASH_TYPE_SHA256},
                             {"ECDSA-P384", ECC_SECP384R1, WC_HASH_TYPE_SHA384}};

struct Digest {
  uint8_t bytes[WC_MAX_DIGEST_SIZE];
  word32 length = 0;
};

Result<Digest> digest_of(wc_HashType hash, Bytes message) {
  Digest digest;
  digest.length = length_of(static_cast<size_t>(wc_HashGetDigestSize(hash)));
  auto done =
      check(wc_Hash(hash, message.data(), length_of(message.size()), digest.bytes, digest.length),
            "hash");
  if (!done) return std::unexpected(done.error());
  return digest;
}

class EcdsaVerifier final : public Verifier {
 public:
  explicit EcdsaVerifier(const Scheme& scheme) : scheme_(scheme) {}
  Result<void> import(Bytes encoded) {
    return check(
        wc_ecc_import_x963_ex(encoded.data(), length_of(encoded.size()), key_.get(), scheme_.curve),
        "public key");
  }
  Result<bool> verify(Bytes message, Bytes signature) override {
    auto digest = digest_of(scheme_.hash, message);
    if (!digest) return std::unexpected(digest.error());
    int fits = 0;
    int code = wc_ecc_verify_hash(signature.data(), length_of(signature.size()), digest->bytes,
                                  digest->length, &fits, key_.get());
    return code == 0 && fits == 1;
  }

 private:
  const Scheme& scheme_;
  EccKey key_;
};

class EcdsaPair final : public SignatureKeyPair {
 public:
  explicit EcdsaPair(const Scheme& scheme) : scheme_(scheme), sizes_(sizes_of(scheme.name)) {}
  Result<void> generate() {
    return check(wc_ecc_make_key_ex(rng_.get(), static_cast<int>(sizes_.private_key), key_.get(),
                                    scheme_.curve),
                 "key generation");
  }
  Result<Buffer> public_key() const override {
    Buffer out(sizes_.public_key);
    word32 length = length_of(out.size());
    auto done = check(wc_ecc_export_x963(key_.get(), out.data(), &length), "public key");
    if (!done) return std::unexpected(done.error());
    return out;
  }
  Result<void> sign(Bytes message, Buffer& signature) override {
    auto digest = digest_of(scheme_.hash, message);
    if (!digest) return std::unexpected(digest.error());
    signature.resize(sizes_.output);
    word32 length = length_of(signature.size());
    auto done = check(wc_ecc_sign_hash(digest->bytes, digest->length, signature.data(), &length,
                                       rng_.get(), key_.get()),
                      "signature");
    signature.resize(length);
    return done;
  }

 private:
  const Scheme& scheme_;
  Sizes sizes_;
  Random rng_;
  mutable EccKey key_;
};

class Ecdsa final : public Signature {
 public:
  explicit Ecdsa(const Scheme& scheme) : scheme_(scheme) {}
  Result<std::unique_ptr<SignatureKeyPair>> generate() override {
    auto pair = std::make_unique<EcdsaPair>(scheme_);
    if (auto made = pair->generate(); !made) return std::unexpected(made.error());
    return pair;
  }
  Result<std::unique_ptr<Verifier>> parse_public(Bytes encoded) override {
    auto verifier = std::make_unique<EcdsaVerifier>(scheme_);
    if (auto done = verifier->import(encoded); !done) return std::unexpected(done.error());
    return verifier;
  }
  Sizes sizes() const override { return sizes_of(scheme_.name); }

 private:
  const Scheme& scheme_;
};

class EdVerifier final : public Verifier {
 public:
  Result<void> import(Bytes encoded) {
    return check(wc_ed25519_import_public(encoded.data(), length_of(encoded.size()), key_.get()),
                 "public key");
  }
  Result<bool> verify(Bytes message, Bytes signature) override {
    int fits = 0;
    int code = wc_ed25519_verify_msg(signature.data(), length_of(signature.size()), message.data(),
                                     length_of(message.size()), &fits, key_.get());
    return code == 0 && fits == 1;
  }

 private:
  Ed25519Key key_;
};

class EdPair final : public SignatureKeyPair {
 public:
  Result<void> generate(WC_RNG* rng) {
    return check(wc_ed25519_make_key(rng, ED25519_KEY_SIZE, key_.get()), "key generation");
  }
  Result<Buffer> public_key() const override {
    Buffer out(ED25519_PUB_KEY_SIZE);
    word32 length = length_of(out.size());
    auto done = check(wc_ed25519_export_public(key_.get(), out.data(), &length), "public key");
    if (!done) return std::unexpected(done.error());
    return out;
  }
  Result<void> sign(Bytes message, Buffer& signature) override {
    signature.resize(ED25519_SIG_SIZE);
    word32 length = length_of(signature.size());
    return check(wc_ed25519_sign_msg(message.data(), length_of(message.size()), signature.data(),
                                     &length, key_.get()),
                 "signature");
  }

 private:
  mutable Ed25519Key key_;
};

class Ed25519 final : public Signature {
 public:
  Result<std::unique_ptr<SignatureKeyPair>> generate() override {
    auto pair = std::make_unique<EdPair>();
    if (auto made = pair->generate(rng_.get()); !made) return std::unexpected(made.error());
    return pair;
  }
  Result<std::unique_ptr<Verifier>> parse_public(Bytes encoded) override {
    auto verifier = std::make_unique<EdVerifier>();
    if (auto done = verifier->import(encoded); !done) return std::unexpected(done.error());
    return verifier;
  }
  Sizes sizes() const override { return sizes_of("Ed25519"); }

 private:
  Random rng_;
};

}  // namespace

std::unique_ptr<Signature> make_signature(std::string_view algorithm) {
  if (algorithm == "Ed25519") return std::make_unique<Ed25519>();
  for (const auto& scheme : kEcdsa) {
    if (algorithm == scheme.name) return std::make_unique<Ecdsa>(scheme);
  }
  return nullptr;
}

}  // namespace pqedge::measure::wolf
