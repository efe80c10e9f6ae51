// One suite, measured: each phase in its own loop, the composition of all, and the same exchange
// from end to end.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "measure/record/record.h"
#include "measure/timing/sampler.h"
#include "measure/track/work.h"

namespace pqedge::measure {

struct SuiteRun {
  SamplingLimits limits;
  bool keep_samples = false;
  // Called before each loop: "KEM keygen", ..., "end to end"; and after it.
  std::function<void(std::string_view)> begins;
  std::function<void()> ended;
};

struct MeasuredSuite {
  SuiteRecord record;
  std::vector<double> composed_us;  // in the order of the pairing; empty where nothing is composed
  bool cancelled = false;           // the record holds the phases that were done until then
};

// `facts` says what is measured (name, provider, baseline, ...). A phase that fails is an error
// that names it.
Result<MeasuredSuite> measure_suite(const Work& work, SuiteRecord facts, const SuiteRun& run);

}  // namespace pqedge::measure
