#include "config/report.h"

#include <algorithm>
#include <format>

namespace pqedge::config {
namespace {

// Deeper or longer keys than any real one are found by what is around them.
constexpr size_t kLongestKey = 256;

// Problems quote the file; whatever it holds, a problem stays one line of text.
std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto u = static_cast<uint8_t>(c);
    if (u < 0x20 || u == 0x7f) {
      std::format_to(std::back_inserter(out), "\\x{:02x}", u);
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

void Places::add(std::string key, const Position& at, const Node& value) {
  if (key.size() > kLongestKey) return;
  if (value.type == Node::Type::table) add_table(value, key + ".");
  for (size_t i = 0; i < value.items.size(); ++i) {
    add(entry_key(key, i), value.items[i].at, value.items[i]);
  }
  places_.push_back({std::move(key), at});
}

void Places::add_table(const Node& table, const std::string& prefix) {
  for (const Member& member : table.members) add(prefix + member.key, member.at, member.value);
  if (prefix.empty()) std::ranges::sort(places_, {}, &Place::key);
}

Places::Place Places::find(std::string_view key) const {
  while (!key.empty()) {
    const auto it = std::ranges::lower_bound(
        places_, key, {}, [](const Place& p) { return std::string_view(p.key); });
    if (it != places_.end() && it->key == key) return *it;
    const size_t cut = key.find_last_of(".[");
    key = cut == std::string_view::npos ? std::string_view{} : key.substr(0, cut);
  }
  return {};
}

std::string Places::text(const Position& at) const {
  return at.line == 0 ? source_ : std::format("{}:{}:{}", source_, at.line, at.column);
}

std::vector<std::string> render(const Problems& problems, const Places& places, size_t most) {
  struct Line {
    Position at;
    std::string text;
  };
  std::vector<Line> lines;
  for (const Problem& p : problems) {
    const Places::Place place = places.find(p.key);
    // "address[0]" of an address that is no array is called as it is written.
    const bool scalar = !place.key.empty() && p.key == place.key + "[0]";
    std::string text =
        std::format("{}: {}: {}", places.text(place.at), scalar ? place.key : p.key, p.what);
    if (!p.related.empty()) {
      const Position other = places.find(p.related).at;
      text +=
          other.line == 0 ? std::format(" ({})", p.related) : std::format(" (line {})", other.line);
    }
    if (!p.hint.empty()) text += "; " + p.hint;
    lines.push_back({place.at, one_line(text)});
  }
  std::ranges::stable_sort(lines, {}, &Line::at);
  std::vector<std::string> out;
  for (Line& line : lines) {
    if (out.size() == most) {
      out.push_back(std::format("{}: and {} more", places.source(), lines.size() - most));
      break;
    }
    out.push_back(std::move(line.text));
  }
  return out;
}

std::string render_syntax_error(const SyntaxError& error, std::string_view source) {
  return one_line(
      std::format("{}:{}:{}: not TOML: {}", source, error.at.line, error.at.column, error.message));
}

}  // namespace pqedge::config
