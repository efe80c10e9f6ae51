// Signatures: of what a TLS server signs in its CertificateVerify, each time another transcript.
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "measure/track/work.h"

namespace pqedge::measure {

namespace {

constexpr std::string_view kContext = "TLS 1.3, server CertificateVerify";
constexpr size_t kHash = 32;
constexpr size_t kPool = 32;
// The signature's message around it: header, scheme, length (RFC 8446 4, 4.4.3).
constexpr size_t kCertificateVerifyHeader = 4 + 2 + 2;

// 64 spaces, the context string, a zero byte and the transcript's hash (RFC 8446 4.4.3).
std::vector<uint8_t> signed_content() {
  std::vector<uint8_t> content(64, ' ');
  content.insert(content.end(), kContext.begin(), kContext.end());
  content.push_back(0);
  std::array<uint8_t, kHash> hash{};
  RAND_bytes(hash.data(), static_cast<int>(hash.size()));
  content.insert(content.end(), hash.begin(), hash.end());
  return content;
}

struct Signed {
  std::vector<uint8_t> message, signature;
};

struct State {
  std::unique_ptr<Signature> scheme;
  std::unique_ptr<SignatureKeyPair> key, made;
  std::unique_ptr<Verifier> verifier;
  uint64_t left = 0;  // signatures of a stateful key
  std::vector<uint8_t> message, signature;
  std::vector<Signed> pool;  // by the present key, for verification
  size_t next = 0;
  bool verified = true;
  size_t shortest = SIZE_MAX, longest = 0;

  Result<void> new_key();
  Result<void> before_sign();
  Result<void> sign();
  void keep();
  Result<void> before_verify();
  Result<void> verify();
};

Result<void> State::new_key() {
  auto made_key = scheme->generate();
  if (!made_key) return std::unexpected(made_key.error());
  key = std::move(*made_key);
  const auto encoded = key->public_key();
  if (!encoded) return std::unexpected(encoded.error());
  auto parsed = scheme->parse_public(*encoded);
  if (!parsed) return std::unexpected(parsed.error());
  verifier = std::move(*parsed);
  pool.clear();
  left = scheme->signatures_left_when_new().value_or(UINT64_MAX);
  return {};
}

// What the signature before it came to is kept here, outside of the timed region.
void State::keep() {
  if (signature.empty()) return;
  shortest = std::min(shortest, signature.size());
  longest = std::max(longest, signature.size());
  if (pool.size() < kPool) pool.push_back({message, signature});
  signature.clear();
}

Result<void> State::before_sign() {
  keep();
  if (left == 0) {
    if (auto done = new_key(); !done) return done;
  }
  message = signed_content();
  return {};
}

Result<void> State::sign() {
  if (left != UINT64_MAX) --left;
  return key->sign(message, signature);
}

Result<void> State::before_verify() {
  keep();
  if (!verified) return fail("a signature just made does not verify");
  if (pool.empty()) {
    if (auto done = before_sign(); !done) return done;
    if (auto done = sign(); !done) return done;
    keep();
  }
  next = (next + 1) % pool.size();
  return {};
}

Result<void> State::verify() {
  const auto good = verifier->verify(pool[next].message, pool[next].signature);
  if (!good) return std::unexpected(good.error());
  verified = *good;
  return {};
}

Result<std::shared_ptr<State>> new_state(std::string_view name, Provider& provider) {
  auto state = std::make_shared<State>();
  state->scheme = provider.signature(name);
  if (!state->scheme) return fail("{} does not offer {}", provider.facts().name, name);
  if (auto done = state->new_key(); !done) return std::unexpected(done.error());
  return state;
}

Operation operation_of(Step step, const std::shared_ptr<State>& state) {
  if (step == Step::keygen) {
    return {.prepare = [state]() -> Result<void> {
              state->made.reset();
              return {};
            },
            .run = [state]() -> Result<void> {
              auto made = state->scheme->generate();
              if (!made) return std::unexpected(made.error());
              state->made = std::move(*made);
              return {};
            }};
  }
  if (step == Step::sign) {
    return {.prepare = [state] { return state->before_sign(); },
            .run = [state] { return state->sign(); }};
  }
  return {.prepare = [state] { return state->before_verify(); },
          .run = [state] { return state->verify(); }};
}

Result<void> describe(State& state, SuiteRecord& record) {
  state.keep();
  if (!state.verified) return fail("a signature just made does not verify");
  const auto encoded = state.key->public_key();
  if (!encoded) return std::unexpected(encoded.error());
  const Sizes sizes = state.scheme->sizes();
  record.sizes["public_key"] = encoded->size();
  if (sizes.private_key != 0) record.sizes["private_key"] = sizes.private_key;
  if (sizes.spki) record.sizes["spki"] = *sizes.spki;
  if (sizes.output != 0) record.sizes["signature_limit"] = sizes.output;
  if (state.longest == 0) return {};
  record.sizes["signature"] = state.longest;
  record.sizes["signature_least"] = state.shortest;
  record.wire_bytes.server_to_client = state.longest;
  record.wire_details.push_back(
      {.name = "CertificateVerify message with the longest signature seen",
       .bytes = {0, kCertificateVerifyHeader + state.longest},
       .source = "RFC 8446 4.4.3"});
  return {};
}

}  // namespace

Result<Work> signature_work(const PrimitiveSuite& suite, Provider& provider) {
  auto state = new_state(suite.name, provider);
  if (!state) return std::unexpected(state.error());
  Work work;
  for (const PhasePlan& plan : kSignaturePhases) {
    work.phases.push_back({.plan = plan, .operation = operation_of(plan.step, *state)});
  }
  // A stateful key would be used up within the time that throughput takes.
  if (!(*state)->scheme->signatures_left_when_new()) {
    work.exchange_name = " sign";
    work.new_exchange = [&provider, name = suite.name]() -> Result<Operation> {
      auto own = new_state(name, provider);
      if (!own) return std::unexpected(own.error());
      return Operation{.run = [s = *own]() -> Result<void> {
        if (auto ready = s->before_sign(); !ready) return ready;  // a message of its own each time
        return s->sign();
      }};
    };
  }
  work.describe = [state = *state](SuiteRecord& record) { return describe(*state, record); };
  return work;
}

}  // namespace pqedge::measure
