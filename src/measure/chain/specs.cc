// Which chains are made, and what they are called.
#include <format>

#include "measure/chain/algorithm.h"
#include "measure/chain/chain.h"

namespace pqedge::measure {
namespace {

std::string shown(const std::string& name) {
  const auto algorithm = find_chain_algorithm(name);
  return algorithm ? std::string((*algorithm)->shown) : name;
}

ChainSpec plain(std::string_view algorithm) {
  const std::string name(algorithm);
  return {.root = name, .intermediate = name, .leaf = name};
}

ChainSpec mixed(std::string_view issuer, std::string_view leaf) {
  return {
      .root = std::string(issuer), .intermediate = std::string(issuer), .leaf = std::string(leaf)};
}

}  // namespace

std::string chain_name(const ChainSpec& spec) {
  std::string name;
  if (spec.root == spec.intermediate && spec.intermediate == spec.leaf) {
    name = shown(spec.leaf);
  } else if (spec.root == spec.intermediate) {
    name = std::format("{} issuer, {} leaf", shown(spec.intermediate), shown(spec.leaf));
  } else {
    name = std::format("{} root, {} intermediate, {} leaf", shown(spec.root),
                       shown(spec.intermediate), shown(spec.leaf));
  }
  if (spec.profile == ChainProfile::web) name += ", web names";
  if (spec.sct_delivery != SctDelivery::none) {
    name += std::format(", {} {}SCTs", spec.scts,
                        spec.sct_algorithm.empty() ? "" : shown(spec.sct_algorithm) + " ");
    if (spec.sct_delivery == SctDelivery::tls_extension) name += " by TLS extension";
  }
  if (spec.staple) name += ", staple";
  if (!spec.compression.empty()) name += ", " + spec.compression;
  if (spec.client_certificate) name += ", client certificate";
  return name;
}

std::vector<ChainSpec> default_chain_specs() {
  std::vector<ChainSpec> specs;
  for (const ChainAlgorithm& algorithm : chain_algorithms()) specs.push_back(plain(algorithm.name));
  for (const char* lattice : {"ML-DSA-44", "ML-DSA-65"}) {
    specs.push_back(mixed(lattice, "ECDSA-P256"));
    specs.push_back(mixed("ECDSA-P256", lattice));
  }
  specs.push_back(mixed("SLH-DSA-SHA2-128s", "ML-DSA-44"));
  for (const char* algorithm : {"ECDSA-P256", "RSA-2048", "ML-DSA-44", "ML-DSA-65", "ML-DSA-87"}) {
    ChainSpec with = plain(algorithm);
    with.sct_delivery = SctDelivery::embedded;
    with.scts = 2;
    specs.push_back(with);
    with.profile = ChainProfile::web;
    specs.push_back(with);
    with = plain(algorithm);
    with.staple = true;
    specs.push_back(with);
    with = plain(algorithm);
    with.client_certificate = true;
    specs.push_back(with);
  }
  ChainSpec classical_logs = plain("ML-DSA-44");
  classical_logs.sct_delivery = SctDelivery::embedded;
  classical_logs.scts = 2;
  classical_logs.sct_algorithm = "ECDSA-P256";
  specs.push_back(classical_logs);
  for (const char* algorithm : {"ECDSA-P256", "ML-DSA-44"}) {
    ChainSpec with = plain(algorithm);
    with.sct_delivery = SctDelivery::tls_extension;
    with.scts = 2;
    specs.push_back(with);
  }
  // Chains of ML-DSA are counted compressed too, but OpenSSL 3.5 does not compress them.
  for (const char* algorithm : {"ECDSA-P256", "RSA-2048"}) {
    for (const char* compression : {"zlib", "zstd"}) {
      ChainSpec with = plain(algorithm);
      with.compression = compression;
      specs.push_back(with);
    }
  }
  return specs;
}

}  // namespace pqedge::measure
