// Bulk encryption: whole TLS records.
#include <openssl/rand.h>

#include <array>
#include <memory>
#include <vector>

#include "measure/track/work.h"

namespace pqedge::measure {

namespace {

constexpr size_t kRecord = 16384;  // the largest fragment (RFC 8446 5.1)
constexpr size_t kTag = 16;

// A record's header is authenticated with it (RFC 8446 5.2).
constexpr std::array<uint8_t, 5> kHeader{23, 3, 3, (kRecord + kTag) >> 8, (kRecord + kTag) & 0xff};

struct State {
  std::unique_ptr<Aead> aead;
  std::vector<uint8_t> plaintext, sealed, opened;

  Result<void> seal() { return aead->seal(plaintext, kHeader, sealed); }
  Result<void> open() { return aead->open(sealed, kHeader, opened); }
  Result<void> check() const {
    if (!opened.empty() && opened != plaintext) return fail("a record opened to something else");
    return {};
  }
};

Result<std::shared_ptr<State>> new_state(std::string_view name, Provider& provider) {
  auto state = std::make_shared<State>();
  state->aead = provider.aead(name);
  if (!state->aead) return fail("{} does not offer {}", provider.facts().name, name);
  state->plaintext.resize(kRecord);
  RAND_bytes(state->plaintext.data(), static_cast<int>(kRecord));
  return state;
}

}  // namespace

Result<Work> bulk_work(const PrimitiveSuite& suite, Provider& provider) {
  Work work;
  // Each phase has its own context, since sealing moves the nonce on.
  for (const PhasePlan& plan : kBulkPhases) {
    auto state = new_state(suite.name, provider);
    if (!state) return std::unexpected(state.error());
    Operation operation{.run = [s = *state] { return s->seal(); }};
    if (plan.step == Step::decrypt) {
      operation = {.prepare = [s = *state]() -> Result<void> {
                     if (auto good = s->check(); !good) return good;
                     return s->seal();
                   },
                   .run = [s = *state] { return s->open(); }};
    }
    work.phases.push_back({.plan = plan, .operation = std::move(operation)});
  }
  work.exchange_name = " seal and open";
  work.new_exchange = [&provider, name = suite.name]() -> Result<Operation> {
    auto own = new_state(name, provider);
    if (!own) return std::unexpected(own.error());
    return Operation{.prepare = [s = *own] { return s->check(); },
                     .run = [s = *own]() -> Result<void> {
                       if (auto done = s->seal(); !done) return done;
                       return s->open();
                     }};
  };
  work.describe = [](SuiteRecord& record) -> Result<void> {
    record.sizes["plaintext"] = kRecord;
    return {};
  };
  return work;
}

}  // namespace pqedge::measure
