// Whether B is slower than A (M17): regression, none, or cannot tell, with the evidence.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/record/record.h"

namespace pqedge::measure {

enum class Verdict : uint8_t { none, regression, cannot_tell };
std::string_view verdict_name(Verdict verdict);  // "none", "regression", "cannot tell"

struct Finding {
  std::string track;
  std::string suite;
  std::string provider;
  std::string figure;  // "composed", a phase's name, or "wire bytes"
  Verdict verdict = Verdict::cannot_tell;
  double before = 0;  // microseconds (medians over the runs), or bytes
  double after = 0;
  std::optional<Ratio> ratio;  // after over before, with the interval that the verdict rests on
  std::string evidence;        // how the interval was made, or why nothing can be told
};

struct CompareOptions {
  double threshold_percent = 5;  // a smaller change is no regression
};

struct Comparison {
  Verdict verdict = Verdict::cannot_tell;
  std::vector<std::string> reasons;  // that concern the whole: other hosts, withheld runs, ...
  std::vector<std::string> notes;    // differences that do not forbid the comparison
  std::vector<Finding> findings;
};

// One run or several on each side.
Comparison compare(std::span<const Record> before, std::span<const Record> after,
                   const CompareOptions& options);

std::string to_text(const Comparison& comparison, const CompareOptions& options);
std::string to_json(const Comparison& comparison, const CompareOptions& options);

}  // namespace pqedge::measure
