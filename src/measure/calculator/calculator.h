// From somebody's own traffic and measured figures to latency, bytes, cores and money (M21). The
// formulas, with their sources, are in docs/pqcost/calculator.md.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "measure/calculator/figures.h"
#include "measure/calculator/inputs.h"

namespace pqedge::measure {

// One line of the result, and of what it is made of.
struct Term {
  std::string name;
  std::string unit;  // "us", "ms", "B", "GB a month", "cores", "a month"
  double before = 0;
  double after = 0;
  bool result = false;               // what people came for; the others are its parts
  std::vector<std::string> sources;  // figures of records, or the formula
};

struct TermGroup {
  std::string title;
  std::vector<Term> terms;
};

struct Calculation {
  std::vector<TermGroup> groups;      // latency, bytes, cores, money
  std::vector<std::string> notes;     // about this calculation
  std::vector<std::string> left_out;  // what it does not contain
};

Result<Calculation> calculate(const Inputs& inputs, const Figures& figures);

std::string to_text(const Inputs& inputs, const Calculation& calculation);
std::string to_json(const Inputs& inputs, const Calculation& calculation);

}  // namespace pqedge::measure
