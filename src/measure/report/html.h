// HTML by pieces. Whatever comes from a record goes through text() or an attribute, which escape;
// raw() is for what is written in the program itself.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pqedge::measure::report {

// Escaped for element content and for attributes in double quotes. What is not well-formed UTF-8,
// control characters and those that turn the direction of text become U+FFFD: a record that was
// tampered with may look odd, never like something else.
std::string escape_html(std::string_view text);

struct Attribute {
  std::string_view name;
  std::string value;
};

class Html {
 public:
  Html& raw(std::string_view trusted);
  Html& text(std::string_view untrusted);
  Html& open(std::string_view tag, std::initializer_list<Attribute> attributes = {});
  Html& close(std::string_view tag);
  Html& element(std::string_view tag, std::string_view content,
                std::initializer_list<Attribute> attributes = {});

  const std::string& str() const { return out_; }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

// ---- tables that sort ---------------------------------------------------------------------------

struct Cell {
  std::string text;
  std::optional<double> value = {};  // what the column is sorted by; none: the text
  std::string note = {};             // a second, smaller line
  std::string badge = {};          // "withheld", "absent", ...: shown as a word, never colour alone
  std::optional<size_t> run = {};  // the text links to this run
};

struct Column {
  std::string title;
  bool numeric = true;
  std::string explanation = {};  // shown when the title is pointed at, and read aloud
};

struct Row {
  std::vector<Cell> cells;         // fewer than the columns: the last one spans the rest
  std::string detail_title = {};   // what the button that unfolds the detail says
  std::string detail_html = {};    // trusted; empty: nothing to unfold
  std::string state = "measured";  // "measured", "withheld", "absent", "baseline"
};

struct Table {
  std::string id;
  std::string caption;
  std::vector<Column> columns;
  std::vector<Row> rows;
};

void write_table(Html& html, const Table& table);

}  // namespace pqedge::measure::report
