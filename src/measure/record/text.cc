#include "measure/record/text.h"

#include <algorithm>
#include <array>
#include <format>

#include "measure/record/markdown.h"
#include "measure/record/tables.h"

namespace pqedge::measure {
namespace {

size_t width_of(std::string_view utf8) {
  return static_cast<size_t>(
      std::ranges::count_if(utf8, [](char c) { return (static_cast<uint8_t>(c) & 0xc0) != 0x80; }));
}

void pad(std::string& line, std::string_view cell, size_t width, TextTable::Align align) {
  const std::string space(width - std::min(width, width_of(cell)), ' ');
  if (align == TextTable::Align::right) line += space;
  line += cell;
  if (align == TextTable::Align::left) line += space;
}

// A cell of Markdown: no bar ends it early, nothing in it becomes HTML or a new line.
std::string markdown_cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("|\\`*_[]#").contains(c)) out += '\\';
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += static_cast<uint8_t>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

}  // namespace

TextTable::TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

void TextTable::add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::text() const {
  std::vector<size_t> widths;
  for (const Column& c : columns_) widths.push_back(width_of(c.title));
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string out;
  const auto add_line = [&](auto&& cell) {
    std::string line;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (i != 0) line += "  ";
      pad(line, cell(i), widths[i], columns_[i].align);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  };
  add_line([&](size_t i) -> std::string_view { return columns_[i].title; });
  for (const auto& row : rows_) add_line([&](size_t i) -> std::string_view { return row[i]; });
  return out;
}

std::string TextTable::markdown() const {
  std::string out = "|";
  for (const Column& c : columns_) out += ' ' + markdown_cell(c.title) + " |";
  out += "\n|";
  for (const Column& c : columns_) out += c.align == Align::right ? "---:|" : "---|";
  out += '\n';
  for (const auto& row : rows_) {
    out += '|';
    for (const std::string& cell : row) out += ' ' + markdown_cell(cell) + " |";
    out += '\n';
  }
  return out;
}

std::string to_text(const Record& record) {
  std::string out;
  for (const Section& section : sections_of(record)) {
    if (!out.empty()) out += '\n';
    out += section.title + '\n';
    for (const std::string& line : section.lines) out += line + '\n';
    if (section.table.rows() > 0) out += section.table.text();
  }
  return out;
}

std::string to_markdown(const Record& record) {
  std::string out;
  for (const Section& section : sections_of(record)) {
    out += (out.empty() ? "# " : "\n## ") + markdown_cell(section.title) + "\n\n";
    for (const std::string& line : section.lines) out += "- " + markdown_cell(line) + '\n';
    if (!section.lines.empty() && section.table.rows() > 0) out += '\n';
    if (section.table.rows() > 0) out += section.table.markdown();
  }
  return out;
}

std::string time_text(double microseconds) {
  constexpr std::array<std::string_view, 3> kUnits = {"µs", "ms", "s"};
  size_t unit = 0;
  double value = microseconds;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  std::string number =
      value >= 999.5 ? std::format("{:.0f}", value) : std::format("{:#.3g}", value);
  if (number.ends_with('.')) number.pop_back();
  return number + ' ' + std::string(kUnits[unit]);
}

std::string count_text(uint64_t n) {
  std::string digits = std::to_string(n);
  for (size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string change_text(double ratio) { return std::format("{:+.1f} %", (ratio - 1) * 100); }

}  // namespace pqedge::measure
