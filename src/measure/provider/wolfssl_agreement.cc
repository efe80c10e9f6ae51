#include "measure/provider/catalogue.h"
#include "measure/provider/wolfssl.h"
#include "measure/provider/wolfssl_handles.h"

namespace pqedge::measure::wolf {

namespace {

using Buffer = std::vector<uint8_t>;

// The two Montgomery curves have functions of one shape (RFC 7748: little-endian).
struct X25519 {
  static constexpr const char* name = "X25519";
  static constexpr int length = CURVE25519_KEYSIZE;
  using Key = Curve25519Key;
  static constexpr auto make = wc_curve25519_make_key;
  static constexpr auto import_private = wc_curve25519_import_private_ex;
  static constexpr auto import_public = wc_curve25519_import_public_ex;
  static constexpr auto export_public = wc_curve25519_export_public_ex;
  static constexpr auto agree = wc_curve25519_shared_secret_ex;
  static constexpr int order = EC25519_LITTLE_ENDIAN;
};
struct X448 {
  static constexpr const char* name = "X448";
  static constexpr int length = CURVE448_KEY_SIZE;
  using Key = Curve448Key;
  static constexpr auto make = wc_curve448_make_key;
  static constexpr auto import_private = wc_curve448_import_private_ex;
  static constexpr auto import_public = wc_curve448_import_public_ex;
  static constexpr auto export_public = wc_curve448_export_public_ex;
  static constexpr auto agree = wc_curve448_shared_secret_ex;
  static constexpr int order = EC448_LITTLE_ENDIAN;
};

template <typename Curve>
class MontgomeryPair final : public AgreementKeyPair {
 public:
  Result<void> generate(WC_RNG* rng) {
    return check(Curve::make(rng, Curve::length, key_.get()), "key generation");
  }
  Result<void> import(Bytes scalar) {
    return check(
        Curve::import_private(scalar.data(), length_of(scalar.size()), key_.get(), Curve::order),
        "private key");
  }
  Result<Buffer> public_key() const override {
    Buffer out(Curve::length);
    word32 length = length_of(out.size());
    auto done =
        check(Curve::export_public(key_.get(), out.data(), &length, Curve::order), "public key");
    if (!done) return std::unexpected(done.error());
    return out;
  }
  Result<void> derive(Bytes peer_public, Buffer& secret) override {
    typename Curve::Key peer;
    auto parsed = check(Curve::import_public(peer_public.data(), length_of(peer_public.size()),
                                             peer.get(), Curve::order),
                        "the peer's key");
    if (!parsed) return parsed;
    secret.resize(Curve::length);
    word32 length = length_of(secret.size());
    return check(Curve::agree(key_.get(), peer.get(), secret.data(), &length, Curve::order),
                 "derivation");
  }

 private:
  mutable typename Curve::Key key_;
};

template <typename Curve>
class MontgomeryAgreement final : public KeyAgreement {
 public:
  Result<std::unique_ptr<AgreementKeyPair>> generate() override {
    auto pair = std::make_unique<MontgomeryPair<Curve>>();
    if (auto made = pair->generate(rng_.get()); !made) return std::unexpected(made.error());
    return pair;
  }
  Result<std::unique_ptr<AgreementKeyPair>> from_private(Bytes scalar) override {
    auto pair = std::make_unique<MontgomeryPair<Curve>>();
    if (auto done = pair->import(scalar); !done) return std::unexpected(done.error());
    return pair;
  }
  Sizes sizes() const override { return sizes_of(Curve::name); }

 private:
  Random rng_;
};

struct NistCurve {
  const char* name;
  int id;
};

constexpr NistCurve kNistCurves[] = {
    {"P-256", ECC_SECP256R1}, {"P-384", ECC_SECP384R1}, {"P-521", ECC_SECP521R1}};

class NistPair final : public AgreementKeyPair {
 public:
  NistPair(const NistCurve& curve, std::shared_ptr<Random> rng)
      : curve_(curve), sizes_(sizes_of(curve.name)), rng_(std::move(rng)) {}

  Result<void> generate() {
    auto made = check(
        wc_ecc_make_key_ex(rng_->get(), static_cast<int>(sizes_.secret), key_.get(), curve_.id),
        "key generation");
    return made ? blind() : made;
  }
  Result<void> import(Bytes scalar) {
    auto done = check(wc_ecc_import_private_key_ex(scalar.data(), length_of(scalar.size()), nullptr,
                                                   0, key_.get(), curve_.id),
                      "private key");
    return done ? blind() : done;
  }
  Result<Buffer> public_key() const override {
    Buffer out(sizes_.public_key);
    word32 length = length_of(out.size());
    auto done = check(wc_ecc_export_x963(key_.get(), out.data(), &length), "public key");
    if (!done) return std::unexpected(done.error());
    return out;
  }
  Result<void> derive(Bytes peer_public, Buffer& secret) override {
    EccKey peer;
    auto parsed = check(wc_ecc_import_x963_ex(peer_public.data(), length_of(peer_public.size()),
                                              peer.get(), curve_.id),
                        "the peer's key");
    if (!parsed) return parsed;
    secret.resize(sizes_.secret);
    word32 length = length_of(secret.size());
    return check(wc_ecc_shared_secret(key_.get(), peer.get(), secret.data(), &length),
                 "derivation");
  }

 private:
  // The derivation is blinded with random numbers in a build that resists timing attacks.
  Result<void> blind() { return check(wc_ecc_set_rng(key_.get(), rng_->get()), "random numbers"); }

  NistCurve curve_;
  Sizes sizes_;
  std::shared_ptr<Random> rng_;  // which the key points to
  mutable EccKey key_;
};

class NistAgreement final : public KeyAgreement {
 public:
  explicit NistAgreement(const NistCurve& curve) : curve_(curve) {}
  Result<std::unique_ptr<AgreementKeyPair>> generate() override {
    auto pair = std::make_unique<NistPair>(curve_, rng_);
    if (auto made = pair->generate(); !made) return std::unexpected(made.error());
    return pair;
  }
  Result<std::unique_ptr<AgreementKeyPair>> from_private(Bytes scalar) override {
    auto pair = std::make_unique<NistPair>(curve_, rng_);
    if (auto done = pair->import(scalar); !done) return std::unexpected(done.error());
    return pair;
  }
  Sizes sizes() const override { return sizes_of(curve_.name); }

 private:
  NistCurve curve_;
  std::shared_ptr<Random> rng_ = std::make_shared<Random>();
};

}  // namespace

std::unique_ptr<KeyAgreement> make_agreement(std::string_view algorithm) {
  if (algorithm == X25519::name) return std::make_unique<MontgomeryAgreement<X25519>>();
  if (algorithm == X448::name) return std::make_unique<MontgomeryAgreement<X448>>();
  for (const auto& curve : kNistCurves) {
    if (algorithm == curve.name) return std::make_unique<NistAgreement>(curve);
  }
  return nullptr;
}

}  // namespace pqedge::measure::wolf
