#include <openssl/crypto.h>

#include "measure/provider/catalogue.h"
#include "measure/provider/libraries.h"
#include "measure/provider/openssl.h"
#include "measure/provider/record_nonce.h"

namespace pqedge::measure {

namespace openssl {

namespace {

class Openssl final : public Provider {
 public:
  ProviderFacts facts() const override {
    return {"OpenSSL", OpenSSL_version(OPENSSL_VERSION_STRING)};
  }

  std::vector<Algorithm> algorithms() const override {
    std::vector<Algorithm> all;
    for (const auto& entry : catalogue()) {
      if (offers(entry)) all.push_back(algorithm_of(entry.name));
    }
    return all;
  }

  Implementation implementation(std::string_view algorithm) const override {
    return implementation_of(algorithm);
  }
  std::unique_ptr<Kem> kem(std::string_view algorithm) override { return make_kem(algorithm); }
  std::unique_ptr<KeyAgreement> key_agreement(std::string_view algorithm) override {
    return make_agreement(algorithm);
  }
  std::unique_ptr<Signature> signature(std::string_view algorithm) override {
    return make_signature(algorithm);
  }
  std::unique_ptr<Aead> aead(std::string_view algorithm) override {
    const auto* entry = find_algorithm(algorithm);
    if (!entry || entry->kind != Kind::aead) return nullptr;
    return make_aead(algorithm, random_bytes(entry->sizes.private_key), random_bytes(kNonceLength));
  }
  std::unique_ptr<Aead> aead_with(std::string_view algorithm, Bytes key, Bytes iv) override {
    return make_aead(algorithm, key, iv);
  }

 private:
  // Asking costs a fetch, not a key.
  static bool offers(const CatalogueEntry& entry) {
    switch (entry.kind) {
      case Kind::kem: return make_kem(entry.name) != nullptr;
      case Kind::key_agreement: return make_agreement(entry.name) != nullptr;
      case Kind::signature: return make_signature(entry.name) != nullptr;
      case Kind::aead: return true;
    }
    return false;
  }
};

}  // namespace

}  // namespace openssl

std::unique_ptr<Provider> make_openssl() { return std::make_unique<openssl::Openssl>(); }

}  // namespace pqedge::measure
