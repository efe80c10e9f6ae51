// The history of a folder as text, JSON and a page of Markdown.
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
// A page to publish: where the runs come from, each figure's median and range over them, and what
// the latest run that counts has of bytes, chains, flights and tokens. `command` is named on it.
std::string history_markdown(const History& history, const HistoryFilter& filter,
                             const std::string& command);

// The median and range over runs as the tables show them; empty without a range.
std::string range_text(const std::optional<Range>& range);
std::string change_range_text(const std::optional<Range>& range);
// Whether a filter lets this through.
bool wanted(const HistoryFilter& filter, const std::string& host_name, const std::string& host_id);
bool wanted(const HistoryFilter& filter, const Series& series);

}  // namespace pqedge::measure
