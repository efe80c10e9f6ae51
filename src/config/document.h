// A TOML document as a tree with the position of each key and value. The only file that knows the
// library which parses it is document.cc.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace pqedge::config {

struct Position {
  uint32_t line = 0;    // from 1; 0 is unknown
  uint32_t column = 0;  // from 1, in code points
  friend auto operator<=>(const Position&, const Position&) = default;
};

struct Member;

struct Node {
  enum class Type : uint8_t { table, array, string, integer, real, boolean, time };

  Type type = Type::table;
  Position at;
  std::string text;             // of a string
  int64_t integer = 0;          // of an integer
  bool boolean = false;         // of a boolean
  std::vector<Member> members;  // of a table, in the order of the file
  std::vector<Node> items;      // of an array

  const Member* find(std::string_view key) const;
};

struct Member {
  std::string key;
  Position at;
  Node value;
};

// "a table", "a string", ...
std::string_view type_name(Node::Type type);

struct SyntaxError {
  Position at;
  std::string message;
};

std::expected<Node, SyntaxError> parse_document(std::string_view toml);

}  // namespace pqedge::config
