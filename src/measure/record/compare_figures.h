// The figures of two sides, matched and judged one by one (M17).
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "measure/record/compare.h"
#include "measure/record/compare_estimate.h"

namespace pqedge::measure {

struct FigureKey {
  std::string track, suite, provider, figure;
  auto operator<=>(const FigureKey&) const = default;
};
using Figures = std::map<FigureKey, std::vector<Seen>>;

// The records must outlive it.
Figures collect_figures(std::span<const Record* const> records);

// Adds a finding for each figure that the first side has, and notes of what only one side has.
// `threshold` is a ratio: a smaller growth is no regression.
void compare_figures(const Figures& before, const Figures& after, double threshold, Comparison& to);

std::string joined(const std::set<std::string>& texts);  // "a, b"

}  // namespace pqedge::measure
