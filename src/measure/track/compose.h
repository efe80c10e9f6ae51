// An exchange composed of phases that were timed each in its own loop (M7).
#pragma once

#include <span>
#include <vector>

#include "measure/track/catalog.h"

namespace pqedge::measure {

struct PhaseSamples {
  PhasePlan plan;
  std::vector<double> us;  // in the order taken
};

// Sample i of a side is the sum of what that side does: of a phase with weight 1 its sample i, of
// one that is done more often also one draw more a time, from the phase's own samples in another
// order. Each sample of a phase is so drawn exactly `weight` times, and the mean of `composed` is
// the sum of the phases' means by weight, but for the rounding of floating point.
struct Composition {
  std::vector<double> client;
  std::vector<double> server;
  std::vector<double> composed;
};

// All phases must have the same number of samples, at least one.
Composition compose(std::span<const PhaseSamples> phases);

// Cuts all to the shortest, so that pairing by index loses nothing of one phase alone.
void cut_to_shortest(std::span<PhaseSamples> phases);

}  // namespace pqedge::measure
