// Tables in plain text for a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measure/record/record.h"

namespace pqedge::measure {

// Columns as wide as their widest cell, two spaces between. Widths count code points of UTF-8.
class TextTable {
 public:
  enum class Align : uint8_t { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  explicit TextTable(std::vector<Column> columns);
  void add(std::vector<std::string> cells);  // missing cells are empty
  size_t rows() const { return rows_.size(); }
  void clear() { rows_.clear(); }
  std::string text() const;
  std::string markdown() const;  // the same as a table of Markdown, cells escaped

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// One track: a line a suite (composed, or each phase where nothing is composed), with the change
// against the baseline, or why it is withheld or absent.
TextTable track_table(const TrackRecord& track);
// All that was measured, with host, date and what is to be known about it.
std::string to_text(const Record& record);

}  // namespace pqedge::measure
