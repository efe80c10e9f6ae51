#include "measure/report/html.h"

#include <cstdint>
#include <format>

namespace pqedge::measure::report {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

struct Decoded {
  uint32_t point = 0;
  size_t length = 0;  // 0: not well-formed UTF-8 (RFC 3629 4)
};

Decoded decode(std::string_view s) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(s[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || s.size() < length) return {};
  uint32_t point = first & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    point = (point << 6) | (byte(i) & 0x3Fu);
  }
  const bool overlong = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
  const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
  if (overlong || surrogate || point > 0x10FFFF) return {};
  return {point, length};
}

// Controls, and marks that reorder the text around them (Unicode TR 9).
bool is_hidden(uint32_t point) {
  return (point < 0x20 && point != '\n' && point != '\t') || (point >= 0x7F && point <= 0x9F) ||
         point == 0x061C || point == 0x200E || point == 0x200F ||
         (point >= 0x2028 && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069) ||
         point == 0xFEFF;
}

void append_escaped(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const Decoded one = decode(text);
    const size_t length = one.length == 0 ? 1 : one.length;
    if (one.length == 0 || is_hidden(one.point)) {
      out += kReplacement;
    } else if (one.point == '&') {
      out += "&amp;";
    } else if (one.point == '<') {
      out += "&lt;";
    } else if (one.point == '>') {
      out += "&gt;";
    } else if (one.point == '"') {
      out += "&quot;";
    } else if (one.point == '\'') {
      out += "&#39;";
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
}

void write_head(Html& html, const Table& table) {
  html.open("thead").open("tr");
  for (const Column& column : table.columns) {
    html.open("th", {{"scope", "col"}, {"class", column.numeric ? "n" : ""}});
    if (column.explanation.empty()) {
      html.element("span", column.title);
    } else {
      html.element("span", column.title, {{"title", column.explanation}});
    }
    html.close("th");
  }
  html.close("tr").close("thead");
}

void write_content(Html& html, const Cell& cell) {
  if (!cell.badge.empty()) {
    html.element("span", cell.badge, {{"class", "badge " + cell.badge}}).raw(" ");
  }
  if (cell.run) {
    html.element("a", cell.text, {{"href", std::format("#run-{}", *cell.run)}});
  } else {
    html.text(cell.text);
  }
  if (!cell.note.empty()) html.raw(" ").element("small", cell.note);
}

void write_row(Html& html, const Table& table, const Row& row, size_t number) {
  html.open("tbody", {{"class", row.state}}).open("tr");
  const std::string detail = std::format("{}-d{}", table.id, number);
  for (size_t i = 0; i < row.cells.size(); ++i) {
    const Cell& cell = row.cells[i];
    const size_t span = i + 1 == row.cells.size() ? table.columns.size() - i : 1;
    const bool numeric = table.columns[i].numeric && span == 1;
    const std::string_view tag = i == 0 ? "th" : "td";
    html.raw("<").raw(tag);
    if (i == 0) html.raw(" scope=\"row\"");
    if (numeric) html.raw(" class=\"n\"");
    if (span > 1) html.raw(std::format(" colspan=\"{}\"", span));
    if (cell.value) html.raw(std::format(" data-v=\"{}\"", *cell.value));
    html.raw(">");
    if (i == 0 && !row.detail_html.empty()) {
      html.open("button", {{"type", "button"},
                           {"class", "unfold"},
                           {"aria-expanded", "true"},
                           {"aria-controls", detail},
                           {"aria-label", row.detail_title},
                           {"hidden", ""}});
      html.close("button");
    }
    write_content(html, cell);
    html.close(tag);
  }
  html.close("tr");
  if (!row.detail_html.empty()) {
    html.open("tr", {{"class", "detail"}, {"id", detail}})
        .open("td", {{"colspan", std::to_string(table.columns.size())}})
        .raw(row.detail_html)
        .close("td")
        .close("tr");
  }
  html.close("tbody");
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  append_escaped(out, text);
  return out;
}

Html& Html::raw(std::string_view trusted) {
  out_ += trusted;
  return *this;
}

Html& Html::text(std::string_view untrusted) {
  append_escaped(out_, untrusted);
  return *this;
}

Html& Html::open(std::string_view tag, std::initializer_list<Attribute> attributes) {
  out_ += '<';
  out_ += tag;
  for (const Attribute& attribute : attributes) {
    if (attribute.name == "class" && attribute.value.empty()) continue;
    out_ += ' ';
    out_ += attribute.name;
    out_ += "=\"";
    append_escaped(out_, attribute.value);
    out_ += '"';
  }
  out_ += '>';
  return *this;
}

Html& Html::close(std::string_view tag) {
  out_ += "</";
  out_ += tag;
  out_ += '>';
  return *this;
}

Html& Html::element(std::string_view tag, std::string_view content,
                    std::initializer_list<Attribute> attributes) {
  return open(tag, attributes).text(content).close(tag);
}

void write_table(Html& html, const Table& table) {
  html.open("div", {{"class", "scroll"},
                    {"role", "region"},
                    {"aria-labelledby", table.id + "-c"},
                    {"tabindex", "0"}});
  html.open("table", {{"id", table.id}, {"class", "sorts"}});
  html.element("caption", table.caption, {{"id", table.id + "-c"}});
  write_head(html, table);
  for (size_t i = 0; i < table.rows.size(); ++i) write_row(html, table, table.rows[i], i);
  html.close("table").close("div").raw("\n");
}

}  // namespace pqedge::measure::report
