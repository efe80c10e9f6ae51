#include "measure/limits/probes.h"

#include <format>
#include <random>

#include "base/base64.h"
#include "measure/chain/mint.h"
#include "measure/token/jws.h"
#include "measure/token/token.h"

namespace pqedge::measure {
namespace {

constexpr std::string_view kTokens[] = {"ES256", "ML-DSA-44", "ML-DSA-65", "ML-DSA-87",
                                        "SLH-DSA-SHA2-128s"};
constexpr std::string_view kCertificates[] = {"ECDSA-P256", "ML-DSA-44", "ML-DSA-65", "ML-DSA-87"};

Result<std::string> sign(std::string_view shown) {
  for (const JoseAlgorithm& algorithm : jose_algorithms()) {
    if (algorithm.shown != shown) continue;
    auto signer = new_openssl_signer(algorithm);
    if (!signer) return std::unexpected(signer.error());
    const auto token = sign_token(**signer, algorithm.alg, default_token_claims());
    if (!token) return std::unexpected(token.error());
    return token->compact();
  }
  return fail("no token of {}", shown);
}

// A Byte Sequence (RFC 8941 3.3.5) of the DER, as RFC 9440 2.1 has it.
std::string client_cert_value(const std::vector<uint8_t>& der) { return ":" + base64(der) + ":"; }

void add_token(std::vector<Probe>& probes, std::string_view name, const std::string& token) {
  probes.push_back({std::format("{} bearer token", name), token.size(), ProbePlace::field,
                    bearer_request(token)});
  probes.push_back({std::format("{} token in the query", name), token.size(), ProbePlace::target,
                    target_request(token)});
}

void add_pair(std::vector<Probe>& probes, std::string_view name, const std::string& token) {
  probes.push_back({std::format("two {} tokens in one Cookie line", name),
                    2 * token.size(),
                    ProbePlace::field,
                    {"/", {std::format("Cookie: id={0}; access={0}", token)}}});
  probes.push_back({std::format("{} bearer token and the same as cookie", name),
                    2 * token.size(),
                    ProbePlace::field,
                    {"/", {"Authorization: Bearer " + token, "Cookie: token=" + token}}});
}

Result<void> add_certificates(std::vector<Probe>& probes) {
  Minter minter;
  for (const std::string_view algorithm : kCertificates) {
    const std::string name(algorithm);
    const auto chain = minter.mint({.root = name, .intermediate = name, .leaf = name});
    if (!chain) return std::unexpected(chain.error());
    const std::string value = client_cert_value(to_der(chain->leaf.get()));
    probes.push_back({std::format("{} certificate in Client-Cert (RFC 9440)", algorithm),
                      value.size(),
                      ProbePlace::field,
                      {"/", {"Client-Cert: " + value}}});
  }
  return {};
}

// As a signature looks: some servers count what HPACK and QPACK made of the text, and one letter
// again and again is coded shorter than base64url. Always the same text.
std::string filler_of(size_t size) {
  std::vector<uint8_t> bytes(size * 3 / 4 + 3);
  std::minstd_rand random(1);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random() >> 8);
  return base64url(bytes).substr(0, size);
}

LimitRequest request_of(ProbePlace place, size_t size) {
  const std::string filler = filler_of(size);
  return place == ProbePlace::field ? bearer_request(filler) : target_request(filler);
}

}  // namespace

LimitRequest bearer_request(const std::string& token) {
  return {"/", {"Authorization: Bearer " + token}};
}

LimitRequest target_request(const std::string& token) { return {"/?access_token=" + token, {}}; }

Result<std::vector<Probe>> make_probes() {
  std::vector<Probe> probes;
  for (const std::string_view name : kTokens) {
    const auto token = sign(name);
    if (!token) return std::unexpected(token.error());
    add_token(probes, name, *token);
    if (name.starts_with("ML-DSA")) add_pair(probes, name, *token);
  }
  for (const size_t size : {4096UZ, 4097UZ}) {
    probes.push_back({std::format("cookie of {} bytes", size),
                      size,
                      ProbePlace::field,
                      {"/", {"Cookie: token=" + std::string(size - 5, 'a')}}});
  }
  if (auto added = add_certificates(probes); !added) return std::unexpected(added.error());
  return probes;
}

Result<Largest> find_largest(uint16_t port, HttpVersion version, ProbePlace place, size_t least,
                             size_t most) {
  const auto try_size = [&](size_t size) { return ask(port, version, request_of(place, size)); };
  auto first = try_size(least);
  if (!first) return std::unexpected(first.error());
  if (!first->accepted()) return fail("even {} bytes are refused: {}", least, first->outcome);
  const auto last = try_size(most);
  if (!last) return std::unexpected(last.error());
  if (last->accepted()) return Largest{most, false, {}};
  size_t good = least;
  size_t bad = most;
  std::string beyond = last->outcome;
  while (bad - good > 1) {
    const size_t middle = good + (bad - good) / 2;
    const auto answer = try_size(middle);
    if (!answer) return std::unexpected(answer.error());
    if (answer->accepted()) {
      good = middle;
    } else {
      bad = middle;
      beyond = answer->outcome;
    }
  }
  return Largest{good, true, beyond};
}

}  // namespace pqedge::measure
