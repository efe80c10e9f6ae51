// A provider shortened to the algorithms that gave their known answers.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "measure/provider/primitive.h"

namespace pqedge::measure {

class CheckedProvider final : public Provider {
 public:
  CheckedProvider(std::unique_ptr<Provider> inner, std::vector<Algorithm> algorithms)
      : inner_(std::move(inner)), algorithms_(std::move(algorithms)) {}

  ProviderFacts facts() const override { return inner_->facts(); }
  std::vector<Algorithm> algorithms() const override { return algorithms_; }
  Implementation implementation(std::string_view algorithm) const override {
    return inner_->implementation(algorithm);
  }
  std::unique_ptr<Kem> kem(std::string_view algorithm) override {
    return has(algorithm) ? inner_->kem(algorithm) : nullptr;
  }
  std::unique_ptr<KeyAgreement> key_agreement(std::string_view algorithm) override {
    return has(algorithm) ? inner_->key_agreement(algorithm) : nullptr;
  }
  std::unique_ptr<Signature> signature(std::string_view algorithm) override {
    return has(algorithm) ? inner_->signature(algorithm) : nullptr;
  }
  std::unique_ptr<Aead> aead(std::string_view algorithm) override {
    return has(algorithm) ? inner_->aead(algorithm) : nullptr;
  }
  std::unique_ptr<Aead> aead_with(std::string_view algorithm, Bytes key, Bytes iv) override {
    return has(algorithm) ? inner_->aead_with(algorithm, key, iv) : nullptr;
  }
  Result<std::string> nist_response(std::string_view algorithm) override {
    return inner_->nist_response(algorithm);
  }

  bool has(std::string_view algorithm) const {
    for (const auto& one : algorithms_) {
      if (one.name == algorithm) return true;
    }
    return false;
  }

 private:
  std::unique_ptr<Provider> inner_;
  std::vector<Algorithm> algorithms_;
};

}  // namespace pqedge::measure
