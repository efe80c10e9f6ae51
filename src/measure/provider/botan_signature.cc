#include <botan/asn1_obj.h>
#include <botan/ec_apoint.h>
#include <botan/ec_group.h>
#include <botan/ecdsa.h>
#include <botan/ed25519.h>
#include <botan/hss_lms.h>
#include <botan/ml_dsa.h>
#include <botan/pk_algs.h>
#include <botan/pubkey.h>
#include <botan/rng.h>
#include <botan/rsa.h>
#include <botan/slh_dsa.h>
#include <botan/xmss.h>

#include <stdexcept>

#include "measure/provider/botan.h"
#include "measure/provider/catalogue.h"

namespace pqedge::measure::botan {

namespace {

struct Scheme {
  const char* name;
  const char* type;
  const char* set;      // parameter set, curve or bits
  const char* padding;  // hash and padding, or how it signs
};

// SLH-DSA's sets have the names of the standard in Botan, too, and are not repeated here.
constexpr Scheme kSchemes[] = {
    {"ML-DSA-44", "ML-DSA", "ML-DSA-4x4", "Randomized"},
    {"ML-DSA-65", "ML-DSA", "ML-DSA-6x5", "Randomized"},
    {"ML-DSA-87", "ML-DSA", "ML-DSA-8x7", "Randomized"},
    {"RSA-2048-PSS", "RSA", "2048", "PSS(SHA-256)"},
    {"RSA-3072-PSS", "RSA", "3072", "PSS(SHA-256)"},
    {"RSA-4096-PSS", "RSA", "4096", "PSS(SHA-256)"},
    {"ECDSA-P256", "ECDSA", "secp256r1", "SHA-256"},
    {"ECDSA-P384", "ECDSA", "secp384r1", "SHA-384"},
    {"Ed25519", "Ed25519", "", "Pure"},
    {"LMS-SHA256-M32-H10", "HSS-LMS", "HSS-LMS(SHA-256,HW(10,4))", ""},
    {"XMSS-SHA2_10_256", "XMSS", "XMSS-SHA2_10_256", ""},
};

struct Choice {
  std::string name, type, set, padding;
  Botan::Signature_Format format = Botan::Signature_Format::Standard;
};

Choice choose(std::string_view name) {
  for (const auto& scheme : kSchemes) {
    if (name != scheme.name) continue;
    Choice choice{scheme.name, scheme.type, scheme.set, scheme.padding};
    if (choice.type == "ECDSA") choice.format = Botan::Signature_Format::DerSequence;
    return choice;
  }
  return {std::string(name), "SLH-DSA", std::string(name), "Randomized"};
}

class KeyVerifier final : public Verifier {
 public:
  KeyVerifier(std::unique_ptr<Botan::Public_Key> key, const Choice& choice)
      : key_(std::move(key)),
        // These take the way of signing as a parameter and verify both alike.
        verifier_(*key_, choice.padding == "Randomized" ? "" : choice.padding, choice.format) {}

  Result<bool> verify(Bytes message, Bytes signature) override {
    return attempt("verification", [&] { return verifier_.verify_message(message, signature); });
  }

 private:
  std::unique_ptr<Botan::Public_Key> key_;
  Botan::PK_Verifier verifier_;
};

class KeyPair final : public SignatureKeyPair {
 public:
  KeyPair(std::unique_ptr<Botan::Private_Key> key, const Choice& choice, Rng rng)
      : key_(std::move(key)), choice_(choice), rng_(std::move(rng)) {}

  Result<std::vector<uint8_t>> public_key() const override {
    return attempt("public key", [&] {
      // The point for ECDSA, RSAPublicKey for RSA.
      return choice_.type == "RSA" ? key_->public_key_bits() : key_->raw_public_key_bits();
    });
  }

  Result<void> sign(Bytes message, std::vector<uint8_t>& signature) override {
    return attempt("signature", [&] {
      if (!signer_) {
        signer_ = std::make_unique<Botan::PK_Signer>(*key_, *rng_, choice_.padding, choice_.format);
      }
      signature = signer_->sign_message(message, *rng_);
    });
  }

 private:
  std::unique_ptr<Botan::Private_Key> key_;
  std::unique_ptr<Botan::PK_Signer> signer_;
  Choice choice_;
  Rng rng_;
};

Botan::SLH_DSA_Parameters slh_dsa(const Choice& choice) {
  return Botan::SLH_DSA_Parameters::create(choice.set);
}

std::unique_ptr<Botan::Public_Key> parse(const Choice& choice, Bytes encoded) {
  using Botan::AlgorithmIdentifier;
  if (choice.type == "ML-DSA") {
    return std::make_unique<Botan::ML_DSA_PublicKey>(encoded, Botan::ML_DSA_Mode(choice.set));
  }
  if (choice.type == "SLH-DSA") {
    return std::make_unique<Botan::SLH_DSA_PublicKey>(encoded, slh_dsa(choice));
  }
  if (choice.type == "HSS-LMS") return std::make_unique<Botan::HSS_LMS_PublicKey>(encoded);
  if (choice.type == "XMSS") return std::make_unique<Botan::XMSS_PublicKey>(encoded);
  if (choice.type == "ECDSA") {
    auto curve = Botan::EC_Group::from_name(choice.set);
    auto point = Botan::EC_AffinePoint::deserialize(curve, encoded);
    if (!point) throw std::invalid_argument("not a point of the curve");
    return std::make_unique<Botan::ECDSA_PublicKey>(curve, *point);
  }
  if (choice.type == "Ed25519") {
    return std::make_unique<Botan::Ed25519_PublicKey>(
        AlgorithmIdentifier("Ed25519", AlgorithmIdentifier::USE_EMPTY_PARAM), encoded);
  }
  return std::make_unique<Botan::RSA_PublicKey>(
      AlgorithmIdentifier("RSA", AlgorithmIdentifier::USE_NULL_PARAM), encoded);
}

class BotanSignature final : public Signature {
 public:
  BotanSignature(Choice choice, Rng rng) : choice_(std::move(choice)), rng_(std::move(rng)) {}

  Result<std::unique_ptr<SignatureKeyPair>> generate() override {
    return attempt("key generation", [&] {
      auto key = Botan::create_private_key(choice_.type, *rng_, choice_.set);
      if (!key) throw std::runtime_error("this build of Botan has no such scheme");
      return wrap(std::move(key), choice_);
    });
  }

  Result<std::unique_ptr<Verifier>> parse_public(Bytes encoded) override {
    return attempt("public key", [&]() -> std::unique_ptr<Verifier> {
      return std::make_unique<KeyVerifier>(parse(choice_, encoded), choice_);
    });
  }

  Sizes sizes() const override { return sizes_of(choice_.name); }

  Result<std::unique_ptr<SignatureKeyPair>> from_seed(Bytes seed) override {
    if (choice_.type != "ML-DSA") return not_offered("Botan takes no seed here");
    return attempt("private key", [&] {
      return wrap(std::make_unique<Botan::ML_DSA_PrivateKey>(seed, Botan::ML_DSA_Mode(choice_.set)),
                  choice_);
    });
  }

  Result<std::vector<uint8_t>> sign_deterministic(Bytes private_key, Bytes message) override {
    if (choice_.type != "SLH-DSA") return not_offered("Botan has no deterministic signing here");
    auto choice = choice_;
    choice.padding = "Deterministic";
    auto key = attempt("private key", [&] {
      return wrap(std::make_unique<Botan::SLH_DSA_PrivateKey>(private_key, slh_dsa(choice)),
                  choice);
    });
    if (!key) return std::unexpected(key.error());
    std::vector<uint8_t> signature;
    if (auto done = (*key)->sign(message, signature); !done) {
      return std::unexpected(done.error());
    }
    return signature;
  }

  std::optional<uint64_t> signatures_left_when_new() const override {
    if (choice_.type == "HSS-LMS" || choice_.type == "XMSS") return 1024;  // a tree of height 10
    return std::nullopt;
  }

 private:
  std::unique_ptr<SignatureKeyPair> wrap(std::unique_ptr<Botan::Private_Key> key,
                                         const Choice& choice) const {
    return std::make_unique<KeyPair>(std::move(key), choice, rng_);
  }

  Choice choice_;
  Rng rng_;
};

}  // namespace

std::unique_ptr<Signature> make_signature(std::string_view algorithm, const Rng& rng) {
  const auto* entry = find_algorithm(algorithm);
  if (!entry || entry->kind != Kind::signature || algorithm.starts_with("Falcon-")) return nullptr;
  return std::make_unique<BotanSignature>(choose(algorithm), rng);
}

}  // namespace pqedge::measure::botan
