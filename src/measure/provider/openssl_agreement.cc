// Diffie-Hellman on curves and in finite fields.
#include <openssl/bn.h>
#include <openssl/dh.h>
#include <openssl/ec.h>
#include <openssl/obj_mac.h>

#include "measure/provider/catalogue.h"
#include "measure/provider/openssl.h"

namespace pqedge::measure::openssl {

namespace {

struct Group {
  const char* name;
  const char* type;
  const char* group;  // OpenSSL's name; empty: the type says it
  int curve;          // NID of a NIST curve
};

constexpr Group kGroups[] = {
    {"X25519", "X25519", "", 0},
    {"X448", "X448", "", 0},
    {"P-256", "EC", "P-256", NID_X9_62_prime256v1},
    {"P-384", "EC", "P-384", NID_secp384r1},
    {"P-521", "EC", "P-521", NID_secp521r1},
    {"MODP-2048", "DH", "modp_2048", 0},
    {"MODP-3072", "DH", "modp_3072", 0},
    {"ffdhe2048", "DH", "ffdhe2048", 0},
    {"ffdhe3072", "DH", "ffdhe3072", 0},
};

class KeyPair final : public AgreementKeyPair {
 public:
  KeyPair(KeyPtr key, bool finite_field, size_t secret_length)
      : key_(std::move(key)), finite_field_(finite_field), secret_length_(secret_length) {}

  Result<std::vector<uint8_t>> public_key() const override { return encoded_public(key_.get()); }

  // As libssl does it: the peer's key takes its group from ours, and is checked (SP
  // 800-56A 5.6.2.3) when it is set.
  Result<void> derive(Bytes peer_public, std::vector<uint8_t>& secret) override {
    KeyPtr peer(EVP_PKEY_new());
    if (!peer || EVP_PKEY_copy_parameters(peer.get(), key_.get()) != 1 ||
        EVP_PKEY_set1_encoded_public_key(peer.get(), peer_public.data(), peer_public.size()) != 1) {
      return failed("the peer's key");
    }
    if (!context_) {
      if (auto made = make_context(); !made) return made;
    }
    size_t length = secret_length_;
    secret.resize(length);
    if (EVP_PKEY_derive_set_peer(context_.get(), peer.get()) != 1 ||
        EVP_PKEY_derive(context_.get(), secret.data(), &length) != 1) {
      return failed("derivation");
    }
    secret.resize(length);
    return {};
  }

 private:
  Result<void> make_context() {
    context_.reset(EVP_PKEY_CTX_new_from_pkey(nullptr, key_.get(), nullptr));
    if (!context_ || EVP_PKEY_derive_init(context_.get()) != 1) return failed("derivation");
    // RFC 8446 7.4.1, RFC 7296 2.14: leading zeros are kept.
    if (finite_field_ && EVP_PKEY_CTX_set_dh_pad(context_.get(), 1) != 1) return failed("padding");
    return {};
  }

  KeyPtr key_;
  KeyContext context_;
  bool finite_field_;
  size_t secret_length_;
};

// The public key of a private one, which OpenSSL does not work out by itself on import.
Result<std::vector<uint8_t>> point_of(int curve, const BIGNUM* scalar) {
  using GroupPtr = std::unique_ptr<EC_GROUP, FreeWith<EC_GROUP_free>>;
  using PointPtr = std::unique_ptr<EC_POINT, FreeWith<EC_POINT_free>>;
  GroupPtr group(EC_GROUP_new_by_curve_name(curve));
  PointPtr point(group ? EC_POINT_new(group.get()) : nullptr);
  if (!point || EC_POINT_mul(group.get(), point.get(), scalar, nullptr, nullptr, nullptr) != 1) {
    return failed("the public point");
  }
  std::vector<uint8_t> encoded(EC_POINT_point2oct(
      group.get(), point.get(), POINT_CONVERSION_UNCOMPRESSED, nullptr, 0, nullptr));
  if (encoded.empty() ||
      EC_POINT_point2oct(group.get(), point.get(), POINT_CONVERSION_UNCOMPRESSED, encoded.data(),
                         encoded.size(), nullptr) != encoded.size()) {
    return failed("the public point");
  }
  return encoded;
}

Result<KeyPtr> import_curve_private(const Group& group, Bytes scalar) {
  Number number(BN_bin2bn(scalar.data(), static_cast<int>(scalar.size()), nullptr));
  if (!number) return failed("a private key");
  auto point = point_of(group.curve, number.get());
  if (!point) return std::unexpected(point.error());
  ParamBuilder builder(OSSL_PARAM_BLD_new());
  if (!builder ||
      OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, group.group, 0) !=
          1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_PRIV_KEY, number.get()) != 1 ||
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point->data(),
                                       point->size()) != 1) {
    return failed("a private key");
  }
  Params params(OSSL_PARAM_BLD_to_param(builder.get()));
  return import_key(group.type, EVP_PKEY_KEYPAIR, params.get());
}

class OpensslAgreement final : public KeyAgreement {
 public:
  OpensslAgreement(const Group& group, KeyContext generator)
      : group_(group), generator_(std::move(generator)), sizes_(sizes_of(group.name)) {}

  Result<std::unique_ptr<AgreementKeyPair>> generate() override {
    return wrap(openssl::generate(generator_.get()));
  }
  Result<std::unique_ptr<AgreementKeyPair>> from_private(Bytes scalar) override {
    if (group_.curve != 0) return wrap(import_curve_private(group_, scalar));
    if (finite_field()) return not_offered("finite-field private keys are not imported here");
    return wrap(import_raw_private(group_.type, scalar));
  }
  Sizes sizes() const override { return sizes_; }

 private:
  bool finite_field() const { return std::string_view(group_.type) == "DH"; }
  Result<std::unique_ptr<AgreementKeyPair>> wrap(Result<KeyPtr> key) const {
    if (!key) return std::unexpected(key.error());
    return std::make_unique<KeyPair>(std::move(*key), finite_field(), sizes_.secret);
  }

  const Group& group_;
  KeyContext generator_;
  Sizes sizes_;
};

}  // namespace

std::unique_ptr<KeyAgreement> make_agreement(std::string_view algorithm) {
  for (const auto& group : kGroups) {
    if (algorithm != group.name) continue;
    auto generator = make_generator(group.type, group.group);
    if (!generator) return nullptr;
    return std::make_unique<OpensslAgreement>(group, std::move(*generator));
  }
  return nullptr;
}

}  // namespace pqedge::measure::openssl
