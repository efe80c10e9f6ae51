// What one suite does with one provider's primitives: its phases as operations for the sampler, and
// whole exchanges.
#pragma once

#include <functional>
#include <vector>

#include "base/result.h"
#include "measure/provider/primitive.h"
#include "measure/record/record.h"
#include "measure/timing/sampler.h"
#include "measure/track/catalog.h"

namespace pqedge::measure {

struct TimedPhase {
  PhasePlan plan;
  Operation operation;
};

struct Work {
  std::vector<TimedPhase> phases;
  // The phases together are one exchange between a client and a server.
  bool composed = false;
  // A whole exchange (or, where nothing is composed, what throughput counts) with keys of its own:
  // made by the thread that plans, used by one thread at a time. `prepare` checks what the run
  // before it came to. Empty where it makes no sense.
  std::function<Result<Operation>()> new_exchange;
  std::string_view exchange_name;  // appended to the suite's name in throughput; may be empty
  // Fills in sizes and wire bytes from keys and outputs of this run, after the phases were timed.
  std::function<Result<void>(SuiteRecord&)> describe;
};

// An error when the provider does not offer what the suite needs, or fails at it.
Result<Work> kex_work(Track track, const KexSuite& suite, Provider& provider);
Result<Work> signature_work(const PrimitiveSuite& suite, Provider& provider);
Result<Work> bulk_work(const PrimitiveSuite& suite, Provider& provider);

}  // namespace pqedge::measure
