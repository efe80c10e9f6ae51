// Key exchanges: a KEM, a Diffie-Hellman exchange, or both.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "measure/track/work.h"
#include "measure/wire/ike_message.h"
#include "measure/wire/ssh_packet.h"
#include "measure/wire/tls_share.h"

namespace pqedge::measure {

namespace {

struct Primitives {
  std::unique_ptr<Kem> kem;
  std::unique_ptr<KeyAgreement> agreement;
};

Result<Primitives> primitives(const KexSuite& suite, Provider& provider) {
  Primitives out;
  const auto missing = [&](std::string_view what) {
    return fail("{} does not offer {}", provider.facts().name, what);
  };
  if (!suite.kem.empty()) {
    out.kem = provider.kem(suite.kem);
    if (!out.kem) return missing(suite.kem);
  }
  if (!suite.classical.empty()) {
    out.agreement = provider.key_agreement(suite.classical);
    if (!out.agreement) return missing(suite.classical);
  }
  return out;
}

// ---- the whole exchange, both sides in this process -------------------------------------------

struct Exchange {
  Primitives with;
  bool second_share = false;
  std::unique_ptr<KemKeyPair> kem_pair;
  std::unique_ptr<KemPublicKey> kem_peer;
  std::unique_ptr<AgreementKeyPair> client, server, second;
  ExchangeKeys keys;
  std::vector<uint8_t> second_public;
  std::vector<uint8_t> kem_client, kem_server, agreed_client, agreed_server;
  bool ran = false;

  Result<void> client_hello();
  Result<void> server_answer();
  Result<void> client_finish();
  Result<void> run();
  Result<void> check_and_clear();
};

Result<void> Exchange::client_hello() {
  if (with.kem) {
    auto pair = with.kem->generate();
    if (!pair) return std::unexpected(pair.error());
    kem_pair = std::move(*pair);
    auto encoded = kem_pair->public_key();
    if (!encoded) return std::unexpected(encoded.error());
    keys.kem_public = std::move(*encoded);
  }
  const auto new_share = [&](std::unique_ptr<AgreementKeyPair>& pair,
                             std::vector<uint8_t>& encoded) -> Result<void> {
    auto made = with.agreement->generate();
    if (!made) return std::unexpected(made.error());
    pair = std::move(*made);
    auto bytes = pair->public_key();
    if (!bytes) return std::unexpected(bytes.error());
    encoded = std::move(*bytes);
    return {};
  };
  if (with.agreement) {
    if (auto done = new_share(client, keys.classical_client); !done) return done;
  }
  if (second_share) return new_share(second, second_public);
  return {};
}

Result<void> Exchange::server_answer() {
  if (with.kem) {
    auto peer = with.kem->parse_public(keys.kem_public);
    if (!peer) return std::unexpected(peer.error());
    kem_peer = std::move(*peer);
    if (auto done = kem_peer->encapsulate(keys.kem_ciphertext, kem_server); !done) return done;
  }
  if (!with.agreement) return {};
  auto made = with.agreement->generate();
  if (!made) return std::unexpected(made.error());
  server = std::move(*made);
  auto encoded = server->public_key();
  if (!encoded) return std::unexpected(encoded.error());
  keys.classical_server = std::move(*encoded);
  return server->derive(keys.classical_client, agreed_server);
}

Result<void> Exchange::client_finish() {
  if (with.kem) {
    if (auto done = kem_pair->decapsulate(keys.kem_ciphertext, kem_client); !done) return done;
  }
  if (with.agreement) return client->derive(keys.classical_server, agreed_client);
  return {};
}

Result<void> Exchange::run() {
  if (auto done = client_hello(); !done) return done;
  if (auto done = server_answer(); !done) return done;
  ran = true;
  return client_finish();
}

// Not timed: the two sides must have come to the same secrets, and freeing keys is not counted, as
// it is not in the phases.
Result<void> Exchange::check_and_clear() {
  if (ran && (kem_client != kem_server || agreed_client != agreed_server)) {
    return fail("client and server did not come to the same secret");
  }
  kem_pair.reset();
  kem_peer.reset();
  client.reset();
  server.reset();
  second.reset();
  return {};
}

Result<std::shared_ptr<Exchange>> new_exchange(const KexSuite& suite, Provider& provider) {
  auto with = primitives(suite, provider);
  if (!with) return std::unexpected(with.error());
  auto exchange = std::make_shared<Exchange>();
  exchange->with = std::move(*with);
  exchange->second_share = suite.second_share;
  return exchange;
}

// ---- the phases -------------------------------------------------------------------------------

struct PhaseState {
  Primitives with;
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
  auto with = primitives(suite, provider);
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
Operation keygen_operation(std::shared_ptr<PhaseState> state, std::unique_ptr<Pair> PhaseState::*at,
                           Maker make) {
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
    case Step::kem_decapsulate:
      return decapsulate_operation(state);
    case Step::classical_keygen:
    case Step::second_share_keygen:
      return keygen_operation(state, &PhaseState::made_own,
                              [](PhaseState& s) { return s.with.agreement->generate(); });
    default:  // Step::classical_derive
      return {.prepare = [state]() -> Result<void> {
                state->next_peer = (state->next_peer + 1) % state->peers.size();
                return {};
              },
              .run = [state] {
                return state->own->derive(state->peers[state->next_peer], state->secret);
              }};
  }
}

// ---- bytes ------------------------------------------------------------------------------------

Result<WireFigures> wire_of(Track track, const KexSuite& suite, const Exchange& exchange) {
  if (track == Track::ssh) return ssh_figures(exchange.keys);
  if (track == Track::ipsec) return ike_figures(suite.code, suite.additional, exchange.keys);
  const TlsShare second{kTlsX25519, exchange.second_public};
  return tls_figures(suite.code, exchange.keys, suite.second_share ? &second : nullptr);
}

Result<void> describe(Track track, const KexSuite& suite, Exchange& exchange, SuiteRecord& record) {
  if (auto done = exchange.run(); !done) return done;
  const auto figures = wire_of(track, suite, exchange);
  if (!figures) return std::unexpected(figures.error());
  record.wire_bytes = figures->bytes;
  record.wire_details = figures->details;
  const ExchangeKeys& keys = exchange.keys;
  if (exchange.with.kem) {
    record.sizes["kem_public_key"] = keys.kem_public.size();
    record.sizes["kem_ciphertext"] = keys.kem_ciphertext.size();
    record.sizes["kem_secret"] = exchange.kem_client.size();
  }
  if (exchange.with.agreement) {
    record.sizes["classical_public_key"] = keys.classical_client.size();
    record.sizes["classical_secret"] = exchange.agreed_client.size();
  }
  return exchange.check_and_clear();
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
    auto exchange = measure::new_exchange(suite, provider);
    if (!exchange) return std::unexpected(exchange.error());
    return Operation{.prepare = [e = *exchange] { return e->check_and_clear(); },
                     .run = [e = *exchange] { return e->run(); }};
  };
  work.describe = [&provider, suite, track](SuiteRecord& record) -> Result<void> {
    auto exchange = measure::new_exchange(suite, provider);
    if (!exchange) return std::unexpected(exchange.error());
    return describe(track, suite, **exchange, record);
  };
  return work;
}

}  // namespace pqedge::measure
