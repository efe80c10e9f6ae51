#include "crypto/providers.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <format>

#include "base/counters.h"
#include "crypto/fast_provider.h"
#include "crypto/fips.h"

namespace pqedge::crypto {
namespace {

struct State {
  bool fips = false;
  bool fast = false;
  ProviderReport report;
};

State& state() {
  static State one;  // written at start alone
  return one;
}

void count(const char* name, const char* help, bool on) {
  const counters::Counter gauge(name, help, {}, counters::Kind::gauge);
  if (on) gauge.add();
}

Result<void> start_fips(const ProviderSettings& settings) {
  auto module = load_fips(settings.fips_module_config);
  if (!module) return std::unexpected(module.error());
  auto found = check_fips();
  if (!found) return std::unexpected(found.error());
  State& s = state();
  s.fips = true;
  s.report.lines.push_back(
      std::format("FIPS: on: {} {}, its self tests passed, every algorithm is "
                  "fetched with fips=yes",
                  module->name, module->build));
  s.report.lines.insert(s.report.lines.end(), found->begin(), found->end());
  return {};
}

// A module that is named has to be there. One that computes wrongly is never used, named or found.
Result<void> start_fast(const ProviderSettings& settings) {
  State& s = state();
  if (settings.fast_provider == "off") return {};
  const bool named = settings.fast_provider != "auto";
  const std::string path = named ? settings.fast_provider : find_fast_provider();
  if (path.empty()) return {};
  const auto version = load_fast_provider(path);
  if (!version) {
    if (named) return fail("crypto.fast_provider: {}", version.error().message);
    s.report.alarms.push_back("fast cryptography is not used: " + version.error().message);
    return {};
  }
  if (const auto right = check_fast_provider(); !right) {
    s.report.alarms.push_back(std::format(
        "fast cryptography is not used: {} computes wrongly ({}); OpenSSL's own code is used", path,
        right.error().message));
    return {};
  }
  s.fast = true;
  s.report.lines.push_back(
      std::format("fast cryptography: ML-KEM, X25519, X25519MLKEM768, ML-DSA and HKDF by {} ({})",
                  path, *version));
  return {};
}

}  // namespace

Problems validate(const ProviderSettings& settings) {
  Problems problems;
  if (settings.fips && settings.fast_provider != "auto" && settings.fast_provider != "off") {
    problems.push_back({.key = "crypto.fast_provider",
                        .what = "is not FIPS, which crypto.fips = true asks for",
                        .hint = "take one of the two out",
                        .related = "crypto.fips"});
  }
  return problems;
}

Result<void> start_providers(const ProviderSettings& settings) {
  for (const Problem& problem : validate(settings)) {
    return fail("{} {}", problem.key, problem.what);
  }
  if (auto ok = settings.fips ? start_fips(settings) : start_fast(settings); !ok) return ok;
  count("pqedge_crypto_fips", "Whether every algorithm is of OpenSSL's FIPS provider.",
        state().fips);
  count("pqedge_crypto_fast_provider",
        "Whether key exchanges, ML-DSA and derivations are computed by pqedge-fast.so.",
        state().fast);
  count("pqedge_crypto_alarm", "Whether what the section crypto asks for could not be had.",
        !state().report.alarms.empty());
  return {};
}

bool fips_in_use() { return state().fips; }

const char* tls_properties() { return state().fast ? kFastProperties : nullptr; }

void with_tls_properties(const std::function<void()>& start) {
  if (!state().fast) return start();
  // What openssl.cnf asks of everything (alg_section) holds here too, and afterwards again.
  char* const set = EVP_get1_default_properties(nullptr);
  const std::string before = set == nullptr ? "" : set;
  OPENSSL_free(set);
  EVP_set_default_properties(
      nullptr,
      (before.empty() ? std::string(kFastProperties) : before + "," + kFastProperties).c_str());
  start();
  EVP_set_default_properties(nullptr, before.c_str());
}

std::vector<const Group*> usable_groups(std::vector<const Group*> groups) {
  if (!state().fips) return groups;
  std::erase_if(groups, [](const Group* group) { return !is_available(*group); });
  return groups;
}

ProviderReport provider_report() { return state().report; }

}  // namespace pqedge::crypto
