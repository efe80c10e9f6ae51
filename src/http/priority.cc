#include "http/priority.h"

#include <optional>

#include "base/text.h"

namespace pqedge::http {
namespace {

constexpr bool is_key_start(char c) { return (c >= 'a' && c <= 'z') || c == '*'; }
constexpr bool is_key(char c) {
  return is_key_start(c) || is_digit(c) || c == '_' || c == '-' || c == '.';
}
constexpr bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_token_char(char c) {
  return is_alpha(c) || is_digit(c) || std::string_view("!#$%&'*+-.^_`|~:/").contains(c);
}

// As much of RFC 8941's parser as dictionaries need; of values only integers and booleans are kept.
class Parser {
 public:
  explicit Parser(std::string_view in) : in_(in) {}

  struct Item {
    std::optional<int64_t> integer;
    std::optional<bool> boolean;
  };

  bool done() const { return in_.empty(); }
  void skip_spaces() { skip_all(" "); }
  void skip_ows() { skip_all(" \t"); }
  bool take(char c) {
    if (!in_.starts_with(c)) return false;
    in_.remove_prefix(1);
    return true;
  }

  std::optional<std::string_view> key() {
    if (in_.empty() || !is_key_start(in_[0])) return std::nullopt;
    return take_while(is_key);
  }

  // A member's value, or true where there is none, with its parameters (4.2.2).
  std::optional<Item> member() {
    std::optional<Item> item = Item{.boolean = true};
    if (take('=')) item = in_.starts_with('(') ? inner_list() : bare_item();
    if (!item || !parameters()) return std::nullopt;
    return item;
  }

 private:
  void skip_all(std::string_view set) {
    while (!in_.empty() && set.contains(in_[0])) in_.remove_prefix(1);
  }
  template <typename Predicate>
  std::string_view take_while(Predicate p) {
    size_t n = 0;
    while (n < in_.size() && p(in_[n])) ++n;
    const std::string_view taken = in_.substr(0, n);
    in_.remove_prefix(n);
    return taken;
  }

  std::optional<Item> bare_item() {
    if (in_.empty()) return std::nullopt;
    const char c = in_[0];
    if (c == '-' || is_digit(c)) return number();
    if (c == '?') return boolean();
    if (c == '"') return string();
    if (c == ':') return byte_sequence();
    if (c == '*' || is_alpha(c)) {
      take_while(is_token_char);
      return Item{};
    }
    return std::nullopt;
  }

  std::optional<Item> number() {
    const bool negative = take('-');
    const std::string_view digits = take_while(is_digit);
    if (digits.empty() || digits.size() > 15) return std::nullopt;
    if (take('.')) {
      const std::string_view fraction = take_while(is_digit);
      if (digits.size() > 12 || fraction.empty() || fraction.size() > 3) return std::nullopt;
      return Item{};
    }
    const auto value = static_cast<int64_t>(*parse_decimal(digits));
    return Item{.integer = negative ? -value : value};
  }

  std::optional<Item> boolean() {
    in_.remove_prefix(1);
    if (take('1')) return Item{.boolean = true};
    if (take('0')) return Item{.boolean = false};
    return std::nullopt;
  }

  std::optional<Item> string() {
    in_.remove_prefix(1);
    while (!in_.empty()) {
      const char c = in_[0];
      in_.remove_prefix(1);
      if (c == '"') return Item{};
      if (c == '\\') {
        if (!take('"') && !take('\\')) return std::nullopt;
      } else if (c < 0x20 || c > 0x7e) {
        return std::nullopt;
      }
    }
    return std::nullopt;
  }

  std::optional<Item> byte_sequence() {
    in_.remove_prefix(1);
    take_while(
        [](char c) { return is_alpha(c) || is_digit(c) || c == '+' || c == '/' || c == '='; });
    return take(':') ? std::optional(Item{}) : std::nullopt;
  }

  std::optional<Item> inner_list() {
    in_.remove_prefix(1);
    while (!in_.empty()) {
      skip_spaces();
      if (take(')')) return Item{};
      if (!bare_item() || !parameters()) return std::nullopt;
      if (!in_.starts_with(' ') && !in_.starts_with(')')) return std::nullopt;
    }
    return std::nullopt;
  }

  bool parameters() {
    while (take(';')) {
      skip_spaces();
      if (!key()) return false;
      if (take('=') && !bare_item()) return false;
    }
    return true;
  }

  std::string_view in_;
};

}  // namespace

Priority parse_priority(std::string_view value, Priority base) {
  Priority priority = base;
  Parser parser(value);
  parser.skip_spaces();
  while (!parser.done()) {
    const std::optional<std::string_view> key = parser.key();
    if (!key) return base;
    const std::optional<Parser::Item> item = parser.member();
    if (!item) return base;
    // The last of several members with one key counts (RFC 8941 3.2).
    if (*key == "u") {
      const bool good = item->integer && *item->integer >= 0 && *item->integer <= 7;
      priority.urgency = good ? static_cast<uint8_t>(*item->integer) : base.urgency;
    } else if (*key == "i") {
      priority.incremental = item->boolean.value_or(base.incremental);
    }
    parser.skip_ows();
    if (parser.done()) break;
    if (!parser.take(',')) return base;
    parser.skip_ows();
    if (parser.done()) return base;  // a trailing comma
  }
  return priority;
}

}  // namespace pqedge::http
