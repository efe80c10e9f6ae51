#include <botan/dh.h>
#include <botan/dl_group.h>
#include <botan/ec_group.h>
#include <botan/ec_scalar.h>
#include <botan/ecdh.h>
#include <botan/pk_algs.h>
#include <botan/pubkey.h>
#include <botan/rng.h>
#include <botan/x25519.h>
#include <botan/x448.h>

#include <stdexcept>

#include "measure/provider/botan.h"
#include "measure/provider/catalogue.h"

namespace pqedge::measure::botan {

namespace {

struct Group {
  const char* name;
  const char* type;
  const char* group;
};

constexpr Group kGroups[] = {
    {"X25519", "X25519", ""},
    {"X448", "X448", ""},
    {"P-256", "ECDH", "secp256r1"},
    {"P-384", "ECDH", "secp384r1"},
    {"P-521", "ECDH", "secp521r1"},
    {"MODP-2048", "DH", "modp/ietf/2048"},
    {"MODP-3072", "DH", "modp/ietf/3072"},
    {"ffdhe2048", "DH", "ffdhe/ietf/2048"},
    {"ffdhe3072", "DH", "ffdhe/ietf/3072"},
};

class KeyPair final : public AgreementKeyPair {
 public:
  KeyPair(std::unique_ptr<Botan::Private_Key> key, Rng rng)
      : key_(std::move(key)),
        agreement_(dynamic_cast<Botan::PK_Key_Agreement_Key*>(key_.get())),
        rng_(std::move(rng)) {}

  Result<std::vector<uint8_t>> public_key() const override {
    return attempt("public key", [&] { return agreement_->public_value(); });
  }

  Result<void> derive(Bytes peer_public, std::vector<uint8_t>& secret) override {
    return attempt("derivation", [&] {
      if (!operation_) {
        operation_ = std::make_unique<Botan::PK_Key_Agreement>(*key_, *rng_, "Raw");
      }
      auto derived = operation_->derive_key(0, peer_public);
      secret.assign(derived.begin(), derived.end());
    });
  }

 private:
  std::unique_ptr<Botan::Private_Key> key_;
  Botan::PK_Key_Agreement_Key* agreement_;
  std::unique_ptr<Botan::PK_Key_Agreement> operation_;
  Rng rng_;
};

std::unique_ptr<Botan::Private_Key> import(const Group& group, Bytes scalar) {
  const std::string_view type = group.type;
  // Before 3.8 these keys are made of secure vectors alone.
  const Botan::secure_vector<uint8_t> bytes(scalar.begin(), scalar.end());
  if (type == "X25519") return std::make_unique<Botan::X25519_PrivateKey>(bytes);
  if (type == "X448") return std::make_unique<Botan::X448_PrivateKey>(bytes);
  if (type == "ECDH") {
    auto curve = Botan::EC_Group::from_name(group.group);
    auto number = Botan::EC_Scalar::deserialize(curve, scalar);
    if (!number) throw std::invalid_argument("not a scalar of the curve");
    return std::make_unique<Botan::ECDH_PrivateKey>(curve, *number);
  }
  return std::make_unique<Botan::DH_PrivateKey>(Botan::DL_Group::from_name(group.group),
                                                Botan::BigInt::from_bytes(scalar));
}

class BotanAgreement final : public KeyAgreement {
 public:
  BotanAgreement(const Group& group, Rng rng) : group_(group), rng_(std::move(rng)) {}

  Result<std::unique_ptr<AgreementKeyPair>> generate() override {
    return attempt("key generation", [&]() -> std::unique_ptr<AgreementKeyPair> {
      auto key = Botan::create_private_key(group_.type, *rng_, group_.group);
      if (!key) throw std::runtime_error("this build of Botan has no such group");
      return std::make_unique<KeyPair>(std::move(key), rng_);
    });
  }
  Result<std::unique_ptr<AgreementKeyPair>> from_private(Bytes scalar) override {
    return attempt("private key", [&]() -> std::unique_ptr<AgreementKeyPair> {
      return std::make_unique<KeyPair>(import(group_, scalar), rng_);
    });
  }
  Sizes sizes() const override { return sizes_of(group_.name); }

 private:
  const Group& group_;
  Rng rng_;
};

}  // namespace

std::unique_ptr<KeyAgreement> make_agreement(std::string_view algorithm, const Rng& rng) {
  for (const auto& group : kGroups) {
    if (algorithm == group.name) return std::make_unique<BotanAgreement>(group, rng);
  }
  return nullptr;
}

}  // namespace pqedge::measure::botan
