// The libraries of this build and this machine, and the known answers that each has to give before
// anything of it is timed (M11).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "measure/provider/primitive.h"
#include "measure/provider/vectors.h"

namespace pqedge::measure {

// One check against a published vector, or against another provider's result.
struct KnownAnswer {
  std::string provider;
  std::string algorithm;
  std::string source;  // "NIST ACVP ML-KEM-keyGen-FIPS203 tcId 26", "RFC 7748 5.2", ...; or how
                       // it was compared: "with OpenSSL, both ways", "with itself"
  bool passed = false;
  std::string detail;  // why not
};

// A provider or one of its algorithms that is not measured, and why.
struct LeftOut {
  std::string provider;
  std::string algorithm;  // empty: the whole provider
  std::string reason;
};

// What Registry::load() looks for.
struct RegistryOptions {
  // The algorithms to check and to offer; empty: all. All takes some 17 s of CPU time, since
  // SLH-DSA has to sign for its answers: a track asks for its own.
  std::function<bool(const Algorithm&)> wanted;
  // Paths of libraries that are opened at run time. Empty: what the environment variables
  // PQCOST_LIBOQS and PQCOST_AWSLC name, and for liboqs the system's own liboqs.so.
  std::string liboqs;
  std::string awslc;
};

class Registry {
 public:
  // Loads what is there (libraries that are optional are opened at run time) and runs the known
  // answers. A failed answer takes that algorithm of that provider out, named in left_out().
  // Providers offer only what passed: their algorithms() are shortened accordingly.
  static Registry load(const RegistryOptions& options = {});
  // The same with providers and vectors at hand.
  static Registry check(std::vector<std::unique_ptr<Provider>> providers, const Vectors& vectors,
                        const RegistryOptions& options = {});

  Registry();
  Registry(Registry&&) noexcept;
  Registry& operator=(Registry&&) noexcept;
  ~Registry();

  const std::vector<std::unique_ptr<Provider>>& providers() const { return providers_; }
  Provider* find(std::string_view name) const;  // by ProviderFacts::name, case ignored
  // The providers that offer `algorithm` and passed its answers; OpenSSL first.
  std::vector<Provider*> offering(std::string_view algorithm) const;
  const std::vector<KnownAnswer>& known_answers() const { return known_answers_; }
  const std::vector<LeftOut>& left_out() const { return left_out_; }

 private:
  std::vector<std::unique_ptr<Provider>> providers_;
  std::vector<KnownAnswer> known_answers_;
  std::vector<LeftOut> left_out_;
};

}  // namespace pqedge::measure
