// A record as tables with titles: what to_text() and to_markdown() have in common.
#pragma once

#include <string>
#include <vector>

#include "measure/record/record.h"
#include "measure/record/text.h"

namespace pqedge::measure {

struct Section {
  std::string title;
  std::vector<std::string> lines;  // before the table
  TextTable table{{}};
};

// Only what the record holds; the first says where and how it was measured.
std::vector<Section> sections_of(const Record& record);
// Those whose figures are bytes and do not differ from run to run: chains, flights, tokens.
std::vector<Section> byte_sections_of(const Record& record);

}  // namespace pqedge::measure
