#include "measure/provider/registry.h"

#include <strings.h>

#include <algorithm>
#include <cstdlib>
#include <format>
#include <set>

#include "measure/provider/catalogue.h"
#include "measure/provider/checked_provider.h"
#include "measure/provider/known_answers.h"
#include "measure/provider/libraries.h"

namespace pqedge::measure {

namespace {

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

// One algorithm of one provider, on its way through the checks.
struct Candidate {
  Provider* provider;
  std::string provider_name;
  Algorithm algorithm;
  bool published = false;  // gave a published answer
  bool compared = false;   // agrees with another implementation
  std::string failure;     // empty: none so far

  bool passed() const { return failure.empty() && (published || compared); }
};

class Checks {
 public:
  Checks(const Vectors& vectors, std::vector<KnownAnswer>& answers)
      : vectors_(vectors), answers_(answers) {}

  void add(Provider& provider, const Algorithm& algorithm) {
    candidates_.push_back({&provider, provider.facts().name, algorithm, false, false, {}});
  }

  // Hybrids last: they are compared with their parts.
  void run() {
    std::ranges::stable_partition(candidates_, [](const Candidate& candidate) {
      return parts_of(candidate.algorithm.name) == nullptr;
    });
    for (auto& candidate : candidates_) {
      put_vectors(candidate);
      if (candidate.failure.empty()) alone(candidate);
    }
    for (auto& candidate : candidates_) {
      if (candidate.passed() || !candidate.failure.empty()) continue;
      if (const auto* parts = parts_of(candidate.algorithm.name)) {
        with_parts(candidate, *parts);
      } else {
        with_another(candidate);
      }
    }
  }

  const std::vector<Candidate>& candidates() const { return candidates_; }

 private:
  void note(Candidate& candidate, std::string source, const Result<void>& result) {
    if (!result) candidate.failure = std::format("{}: {}", source, result.error().message);
    answers_.push_back({candidate.provider_name, candidate.algorithm.name, std::move(source),
                        result.has_value(), result ? "" : result.error().message});
  }

  void put_vectors(Candidate& candidate) {
    for (const auto& vector : vectors_) {
      if (vector.algorithm != candidate.algorithm.name) continue;
      auto answer = put(*candidate.provider, vector);
      if (!answer.offered) continue;
      note(candidate, vector.source, answer.passed ? Result<void>{} : fail("{}", answer.detail));
      if (!answer.passed) return;
      candidate.published = true;
    }
  }

  void alone(Candidate& candidate) {
    note(candidate, "with itself", check_alone(*candidate.provider, candidate.algorithm));
  }

  Candidate* trusted(std::string_view algorithm, const Candidate* except) {
    for (auto& other : candidates_) {
      if (&other != except && other.algorithm.name == algorithm && other.failure.empty() &&
          other.published) {
        return &other;
      }
    }
    // Two that have no vector, but agree, bear each other out.
    for (auto& other : candidates_) {
      if (&other != except && other.algorithm.name == algorithm && other.failure.empty()) {
        return &other;
      }
    }
    return nullptr;
  }

  void with_another(Candidate& candidate) {
    auto* other = trusted(candidate.algorithm.name, &candidate);
    if (!other || candidate.algorithm.kind == Kind::aead) return;
    auto result = check_together(*candidate.provider, *other->provider, candidate.algorithm);
    if (!result && !other->published && !other->compared) {
      // Which of the two is wrong cannot be told.
      note(*other, std::format("with {}", candidate.provider_name), result);
    }
    note(candidate, std::format("with {}, both ways", other->provider_name), result);
    if (result) {
      candidate.compared = true;
      other->compared = true;
    }
  }

  void with_parts(Candidate& candidate, const HybridParts& parts) {
    auto* kem = trusted(parts.kem, nullptr);
    auto* agreement = trusted(parts.agreement, nullptr);
    if (!kem || !agreement || !kem->passed() || !agreement->passed()) return;
    auto source =
        std::format("with {} of {} and {} of {}, put together as RFC 10024 says", parts.kem,
                    kem->provider_name, parts.agreement, agreement->provider_name);
    auto result = check_hybrid(*candidate.provider, parts, *kem->provider, *agreement->provider);
    candidate.compared = result.has_value();
    note(candidate, source, result);
  }

  const Vectors& vectors_;
  std::vector<KnownAnswer>& answers_;
  std::vector<Candidate> candidates_;
};

std::string option_or_environment(const std::string& option, const char* variable) {
  if (!option.empty()) return option;
  const char* value = std::getenv(variable);
  return value ? value : "";
}

// What is wanted, and the parts of the hybrids among it.
std::set<std::string, std::less<>> wanted_names(const RegistryOptions& options) {
  std::set<std::string, std::less<>> names;
  for (const auto& entry : catalogue()) {
    auto algorithm = algorithm_of(entry.name);
    if (options.wanted && !options.wanted(algorithm)) continue;
    names.insert(algorithm.name);
    if (const auto* parts = parts_of(entry.name)) {
      names.emplace(parts->kem);
      names.emplace(parts->agreement);
    }
  }
  return names;
}

}  // namespace

Registry::Registry() = default;
Registry::Registry(Registry&&) noexcept = default;
Registry& Registry::operator=(Registry&&) noexcept = default;
Registry::~Registry() = default;

Registry Registry::load(const RegistryOptions& options) {
  std::vector<std::unique_ptr<Provider>> providers;
  std::vector<LeftOut> left_out;
  auto take = [&](const char* name, Result<std::unique_ptr<Provider>> provider) {
    if (provider) {
      providers.push_back(std::move(*provider));
    } else {
      left_out.push_back({name, "", provider.error().message});
    }
  };
  providers.push_back(make_openssl());
  take("Botan", make_botan());
  take("wolfSSL", make_wolfssl());
  take("libgcrypt", make_libgcrypt());
  take("libntruprime", make_libntruprime());
  take("PQClean", make_pqclean());
  take("liboqs", open_liboqs(option_or_environment(options.liboqs, "PQCOST_LIBOQS")));
  auto awslc = option_or_environment(options.awslc, "PQCOST_AWSLC");
  if (awslc.empty()) {
    left_out.push_back({"AWS-LC", "", "PQCOST_AWSLC names no libcrypto of AWS-LC"});
  } else {
    take("AWS-LC", open_awslc(awslc));
  }
  auto registry = check(std::move(providers), published_vectors(), options);
  registry.left_out_.insert(registry.left_out_.begin(), left_out.begin(), left_out.end());
  return registry;
}

Registry Registry::check(std::vector<std::unique_ptr<Provider>> providers, const Vectors& vectors,
                         const RegistryOptions& options) {
  Registry registry;
  auto names = wanted_names(options);
  Checks checks(vectors, registry.known_answers_);
  for (auto& provider : providers) {
    for (const auto& algorithm : provider->algorithms()) {
      if (names.contains(algorithm.name)) checks.add(*provider, algorithm);
    }
  }
  checks.run();
  for (auto& provider : providers) {
    std::vector<Algorithm> passed;
    for (const auto& candidate : checks.candidates()) {
      if (candidate.provider != provider.get()) continue;
      if (candidate.passed()) {
        passed.push_back(candidate.algorithm);
      } else {
        registry.left_out_.push_back(
            {candidate.provider_name, candidate.algorithm.name,
             candidate.failure.empty()
                 ? "no published answer, and no other implementation to compare it with"
                 : candidate.failure});
      }
    }
    registry.providers_.push_back(
        std::make_unique<CheckedProvider>(std::move(provider), std::move(passed)));
  }
  return registry;
}

Provider* Registry::find(std::string_view name) const {
  for (const auto& provider : providers_) {
    if (equal_ignoring_case(provider->facts().name, name)) return provider.get();
  }
  return nullptr;
}

std::vector<Provider*> Registry::offering(std::string_view algorithm) const {
  std::vector<Provider*> found;
  for (const auto& provider : providers_) {
    for (const auto& one : provider->algorithms()) {
      if (one.name == algorithm) found.push_back(provider.get());
    }
  }
  return found;
}

}  // namespace pqedge::measure
