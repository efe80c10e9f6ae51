// libgcrypt's KEM interface (since 1.11), which has Diffie-Hellman as "raw" KEMs.
#include "measure/provider/gcrypt.h"

#include <gcrypt.h>

#include "measure/provider/catalogue.h"

namespace pqedge::measure::libgcrypt {

Result<void> check(unsigned error, std::string_view what) {
  if (error != 0) return fail("libgcrypt: {}: {}", what, gcry_strerror(error));
  return {};
}

namespace {

using Buffer = std::vector<uint8_t>;

struct KemId {
  const char* name;
  int algorithm;
};

constexpr KemId kKems[] = {
    {"ML-KEM-512", GCRY_KEM_MLKEM512},
    {"ML-KEM-768", GCRY_KEM_MLKEM768},
    {"ML-KEM-1024", GCRY_KEM_MLKEM1024},
    {"sntrup761", GCRY_KEM_SNTRUP761},
};

constexpr KemId kAgreements[] = {
    {"X25519", GCRY_KEM_RAW_X25519}, {"X448", GCRY_KEM_RAW_X448},    {"P-256", GCRY_KEM_RAW_P256R1},
    {"P-384", GCRY_KEM_RAW_P384R1},  {"P-521", GCRY_KEM_RAW_P521R1},
};

template <size_t N>
const KemId* find(const KemId (&ids)[N], std::string_view name) {
  for (const auto& id : ids) {
    if (name == id.name) return &id;
  }
  return nullptr;
}

void wipe(Buffer& bytes) {
  volatile uint8_t* at = bytes.data();
  for (size_t i = 0; i < bytes.size(); ++i) at[i] = 0;
}

class KemPublic final : public KemPublicKey {
 public:
  KemPublic(const KemId& id, Bytes key)
      : id_(id), sizes_(sizes_of(id.name)), key_(key.begin(), key.end()) {}
  Result<void> encapsulate(Buffer& ciphertext, Buffer& secret) override {
    ciphertext.resize(sizes_.output);
    secret.resize(sizes_.secret);
    return check(gcry_kem_encap(id_.algorithm, key_.data(), key_.size(), ciphertext.data(),
                                ciphertext.size(), secret.data(), secret.size(), nullptr, 0),
                 "encapsulation");
  }

 private:
  const KemId& id_;
  Sizes sizes_;
  Buffer key_;
};

class KemPair final : public KemKeyPair {
 public:
  KemPair(const KemId& id, Buffer public_key, Buffer private_key)
      : id_(id),
        sizes_(sizes_of(id.name)),
        public_(std::move(public_key)),
        private_(std::move(private_key)) {}
  ~KemPair() override { wipe(private_); }
  Result<Buffer> public_key() const override {
    if (public_.empty()) return fail("only the private key is known");
    return public_;
  }
  Result<void> decapsulate(Bytes ciphertext, Buffer& secret) override {
    secret.resize(sizes_.secret);
    return check(gcry_kem_decap(id_.algorithm, private_.data(), private_.size(), ciphertext.data(),
                                ciphertext.size(), secret.data(), secret.size(), nullptr, 0),
                 "decapsulation");
  }

 private:
  const KemId& id_;
  Sizes sizes_;
  Buffer public_;
  Buffer private_;
};

class GcryptKem final : public Kem {
 public:
  explicit GcryptKem(const KemId& id) : id_(id), sizes_(sizes_of(id.name)) {}
  Result<std::unique_ptr<KemKeyPair>> generate() override {
    Buffer public_key(sizes_.public_key), private_key(sizes_.private_key);
    auto made = check(gcry_kem_keypair(id_.algorithm, public_key.data(), public_key.size(),
                                       private_key.data(), private_key.size()),
                      "key generation");
    if (!made) return std::unexpected(made.error());
    return std::make_unique<KemPair>(id_, std::move(public_key), std::move(private_key));
  }
  Result<std::unique_ptr<KemPublicKey>> parse_public(Bytes encoded) override {
    if (encoded.size() != sizes_.public_key) {
      return fail("a public key of {} has {} bytes", id_.name, sizes_.public_key);
    }
    return std::make_unique<KemPublic>(id_, encoded);
  }
  Sizes sizes() const override { return sizes_; }
  Result<std::unique_ptr<KemKeyPair>> from_seed(Bytes) override {
    return not_offered("libgcrypt takes no seed");
  }
  Result<std::unique_ptr<KemKeyPair>> from_private(Bytes encoded) override {
    return std::make_unique<KemPair>(id_, Buffer{}, Buffer(encoded.begin(), encoded.end()));
  }

 private:
  const KemId& id_;
  Sizes sizes_;
};

class AgreementPair final : public AgreementKeyPair {
 public:
  AgreementPair(const KemId& id, Buffer public_key, Buffer private_key)
      : id_(id),
        sizes_(sizes_of(id.name)),
        public_(std::move(public_key)),
        private_(std::move(private_key)) {}
  ~AgreementPair() override { wipe(private_); }
  Result<Buffer> public_key() const override {
    if (public_.empty()) return fail("only the private key is known");
    return public_;
  }
  // A raw KEM's ciphertext is the peer's public key. On NIST's curves its secret is the whole
  // point.
  Result<void> derive(Bytes peer_public, Buffer& secret) override {
    bool point = id_.algorithm >= GCRY_KEM_RAW_P256R1;
    secret.resize(point ? sizes_.public_key : sizes_.secret);
    auto done =
        check(gcry_kem_decap(id_.algorithm, private_.data(), private_.size(), peer_public.data(),
                             peer_public.size(), secret.data(), secret.size(), nullptr, 0),
              "derivation");
    if (done && point) {
      secret.erase(secret.begin());
      secret.resize(sizes_.secret);
    }
    return done;
  }

 private:
  const KemId& id_;
  Sizes sizes_;
  Buffer public_;
  Buffer private_;
};

class GcryptAgreement final : public KeyAgreement {
 public:
  explicit GcryptAgreement(const KemId& id) : id_(id), sizes_(sizes_of(id.name)) {}
  Result<std::unique_ptr<AgreementKeyPair>> generate() override {
    Buffer public_key(sizes_.public_key), private_key(sizes_.private_key);
    auto made = check(gcry_kem_keypair(id_.algorithm, public_key.data(), public_key.size(),
                                       private_key.data(), private_key.size()),
                      "key generation");
    if (!made) return std::unexpected(made.error());
    return std::make_unique<AgreementPair>(id_, std::move(public_key), std::move(private_key));
  }
  Result<std::unique_ptr<AgreementKeyPair>> from_private(Bytes scalar) override {
    return std::make_unique<AgreementPair>(id_, Buffer{}, Buffer(scalar.begin(), scalar.end()));
  }
  Sizes sizes() const override { return sizes_; }

 private:
  const KemId& id_;
  Sizes sizes_;
};

}  // namespace

std::vector<std::string_view> kem_names() {
  std::vector<std::string_view> names;
  for (const auto& id : kKems) names.emplace_back(id.name);
  for (const auto& id : kAgreements) names.emplace_back(id.name);
  return names;
}

std::unique_ptr<Kem> make_kem(std::string_view algorithm) {
  const auto* id = find(kKems, algorithm);
  return id ? std::make_unique<GcryptKem>(*id) : nullptr;
}

std::unique_ptr<KeyAgreement> make_agreement(std::string_view algorithm) {
  const auto* id = find(kAgreements, algorithm);
  return id ? std::make_unique<GcryptAgreement>(*id) : nullptr;
}

}  // namespace pqedge::measure::libgcrypt
