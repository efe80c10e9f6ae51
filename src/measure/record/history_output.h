// The history of a folder as text and JSON.
#pragma once

#include <string>

#include "measure/record/history.h"

namespace pqedge::measure {

struct HistoryFilter {
  std::string track;  // empty: all
  std::string host;   // name or id; empty: all
  std::string suite;  // empty: all, a line each; else this one's runs by date and commit
};

std::string history_text(const History& history, const HistoryFilter& filter);
std::string history_json(const History& history, const HistoryFilter& filter);

}  // namespace pqedge::measure
