// The head of the page: what the newest host's runs say in a few plain figures.
#pragma once

#include <string>
#include <vector>

#include "measure/report/model.h"

namespace pqedge::measure::report {

struct Finding {
  std::string figure;   // "1.99×"
  std::string subject;  // what it is a figure of
  std::string basis;    // the two sides in absolute figures, the code that ran, runs and range
  size_t run = 0;       // the run it is taken from
};

// None is made from a withheld run. Key exchange, bytes, chains, first flights, tokens.
std::vector<Finding> findings_of(const Model& model, const Host& host);

// The page's first part: findings and provenance of `host`.
std::string head_html(const Model& model, const Host& host);

}  // namespace pqedge::measure::report
