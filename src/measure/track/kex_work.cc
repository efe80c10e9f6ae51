// Key exchanges, phase by phase: a KEM, a Diffie-Hellman exchange, or both.
#include <memory>
#include <vector>

#include "measure/track/kex_exchange.h"
#include "measure/track/work.h"

namespace pqedge::measure {

namespace {

struct PhaseState {
  KexPrimitives with;
  // Held for the whole loop: encapsulation and derivation start from a parsed key.
  std::unique_ptr<KemKeyPair> kem_pair, made_kem_pair;
  std::unique_ptr<KemPublicKey> kem_peer;
  std::unique_ptr<AgreementKeyPair> own, made_own;
  std::vector<std::vector<uint8_t>> peers;  // public keys, taken in turn
  size_t next_peer = 0;
  std::vector<uint8_t> ciphertext, secret;         // of encapsulation and derivation
  std::vector<uint8_t> fresh, expected, received;  // of decapsulation
};

constexpr size_t kPeers = 16;

Result<std::shared_ptr<PhaseState>> phase_state(const KexSuite& suite, Provider& provider) {
  auto with = kex_primitives(suite, provider);
  if (!with) return std::unexpected(with.error());
  auto state = std::make_shared<PhaseState>();
  state->with = std::move(*with);
  if (state->with.kem) {
    auto pair = state->with.kem->generate();
    if (!pair) return std::unexpected(pair.error());
    state->kem_pair = std::move(*pair);
    const auto encoded = state->kem_pair->public_key();
    if (!encoded) return std::unexpected(encoded.error());
    auto peer = state->with.kem->parse_public(*encoded);
    if (!peer) return std::unexpected(peer.error());
    state->kem_peer = std::move(*peer);
  }
  if (!state->with.agreement) return state;
  auto own = state->with.agreement->generate();
  if (!own) return std::unexpected(own.error());
  state->own = std::move(*own);
  for (size_t i = 0; i < kPeers; ++i) {
    const auto peer = state->with.agreement->generate();
    if (!peer) return std::unexpected(peer.error());
    auto encoded = (*peer)->public_key();
    if (!encoded) return std::unexpected(encoded.error());
    state->peers.push_back(std::move(*encoded));
  }
  return state;
}

template <typename Pair, typename Maker>
Operation keygen_operation(std::shared_ptr<PhaseState> state,
                           std::unique_ptr<Pair> PhaseState::* at, Maker make) {
  return {.prepare = [state, at]() -> Result<void> {
            ((*state).*at).reset();
            return {};
          },
          .run = [state, at, make]() -> Result<void> {
            auto pair = make(*state);
            if (!pair) return std::unexpected(pair.error());
            ((*state).*at) = std::move(*pair);
            return {};
          }};
}

Operation decapsulate_operation(std::shared_ptr<PhaseState> state) {
  return {.prepare = [state]() -> Result<void> {
            if (!state->received.empty() && state->received != state->expected) {
              return fail("decapsulation gave another secret than encapsulation");
            }
            state->received.clear();
            return state->kem_peer->encapsulate(state->fresh, state->expected);
          },
          .run = [state] { return state->kem_pair->decapsulate(state->fresh, state->received); }};
}

Operation operation_of(Step step, const std::shared_ptr<PhaseState>& state) {
  switch (step) {
    case Step::kem_keygen:
      return keygen_operation(state, &PhaseState::made_kem_pair,
                              [](PhaseState& s) { return s.with.kem->generate(); });
    case Step::kem_encapsulate:
      return {.run = [state] {
        return state->kem_peer->encapsulate(state->ciphertext, state->secret);
      }};
    case Step::kem_decapsulate: return decapsulate_operation(state);
    case Step::classical_keygen:
    case Step::second_share_keygen:
      return keygen_operation(state, &PhaseState::made_own,
                              [](PhaseState& s) { return s.with.agreement->generate(); });
    default:  // Step::classical_derive
      return {.prepare = [state]() -> Result<void> {
                state->next_peer = (state->next_peer + 1) % state->peers.size();
                return {};
              },
              .run =
                  [state] {
                    return state->own->derive(state->peers[state->next_peer], state->secret);
                  }};
  }
}

}  // namespace

Result<Work> kex_work(Track track, const KexSuite& suite, Provider& provider) {
  auto state = phase_state(suite, provider);
  if (!state) return std::unexpected(state.error());
  Work work;
  for (const PhasePlan& plan : phases_of(suite)) {
    work.phases.push_back({.plan = plan, .operation = operation_of(plan.step, *state)});
  }
  work.composed = true;
  work.new_exchange = [&provider, suite]() -> Result<Operation> {
    auto exchange = KexExchange::make(suite, provider);
    if (!exchange) return std::unexpected(exchange.error());
    return Operation{.prepare = [e = *exchange] { return e->check_and_clear(); },
                     .run = [e = *exchange] { return e->run(); }};
  };
  work.describe = [&provider, suite, track](SuiteRecord& record) -> Result<void> {
    auto exchange = KexExchange::make(suite, provider);
    if (!exchange) return std::unexpected(exchange.error());
    return (*exchange)->describe(track, suite, record);
  };
  return work;
}

}  // namespace pqedge::measure
