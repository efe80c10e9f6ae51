#include "measure/track/compose.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace pqedge::measure {

namespace {

// Fixed: the same samples compose to the same figures everywhere. Fisher-Yates by hand, since
// std::shuffle may differ between libraries.
std::vector<size_t> order(size_t count, uint64_t seed) {
  std::vector<size_t> indices(count);
  std::iota(indices.begin(), indices.end(), size_t{0});
  if (seed == 0) return indices;
  std::mt19937_64 random(seed);
  for (size_t i = count; i > 1; --i) std::swap(indices[i - 1], indices[random() % i]);
  return indices;
}

}  // namespace

void cut_to_shortest(std::span<PhaseSamples> phases) {
  size_t shortest = SIZE_MAX;
  for (const PhaseSamples& phase : phases) shortest = std::min(shortest, phase.us.size());
  for (PhaseSamples& phase : phases) phase.us.resize(shortest);
}

Composition compose(std::span<const PhaseSamples> phases) {
  const size_t count = phases.empty() ? 0 : phases.front().us.size();
  Composition out;
  out.client.assign(count, 0);
  out.server.assign(count, 0);
  for (size_t p = 0; p < phases.size(); ++p) {
    const PhaseSamples& phase = phases[p];
    for (unsigned draw = 0; draw < phase.plan.weight; ++draw) {
      const bool servers = phase.plan.side == Side::server ||
                           (phase.plan.side == Side::both && draw >= phase.plan.weight / 2);
      std::vector<double>& side = servers ? out.server : out.client;
      const auto indices = order(count, draw == 0 ? 0 : 1000 * (p + 1) + draw);
      for (size_t i = 0; i < count; ++i) side[i] += phase.us[indices[i]];
    }
  }
  out.composed.resize(count);
  for (size_t i = 0; i < count; ++i) out.composed[i] = out.client[i] + out.server[i];
  return out;
}

}  // namespace pqedge::measure
