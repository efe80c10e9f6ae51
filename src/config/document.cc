#include "config/document.h"

#include <algorithm>
#include <toml++/toml.hpp>

namespace pqedge::config {
namespace {

Position position_of(const toml::source_region& region) {
  return {region.begin.line, region.begin.column};
}

Node convert(const toml::node& from) {
  Node to;
  to.at = position_of(from.source());
  if (const toml::table* table = from.as_table()) {
    to.type = Node::Type::table;
    to.members.reserve(table->size());
    for (const auto& [key, value] : *table) {
      to.members.push_back({std::string(key.str()), position_of(key.source()), convert(value)});
    }
    std::ranges::sort(to.members, {}, &Member::at);
  } else if (const toml::array* array = from.as_array()) {
    to.type = Node::Type::array;
    to.items.reserve(array->size());
    for (const toml::node& item : *array) to.items.push_back(convert(item));
  } else if (const auto* string = from.as_string()) {
    to.type = Node::Type::string;
    to.text = string->get();
  } else if (const auto* integer = from.as_integer()) {
    to.type = Node::Type::integer;
    to.integer = integer->get();
  } else if (const auto* boolean = from.as_boolean()) {
    to.type = Node::Type::boolean;
    to.boolean = boolean->get();
  } else {
    to.type = from.is_floating_point() ? Node::Type::real : Node::Type::time;
  }
  return to;
}

}  // namespace

const Member* Node::find(std::string_view key) const {
  const auto it = std::ranges::find(members, key, &Member::key);
  return it == members.end() ? nullptr : &*it;
}

std::string_view type_name(Node::Type type) {
  switch (type) {
    case Node::Type::table: return "a table";
    case Node::Type::array: return "an array";
    case Node::Type::string: return "a string";
    case Node::Type::integer: return "an integer";
    case Node::Type::real: return "a number with a fraction";
    case Node::Type::boolean: return "a boolean";
    case Node::Type::time: return "a date or time";
  }
  return "something else";
}

std::expected<Node, SyntaxError> parse_document(std::string_view toml) {
  // The packaged library is built with exceptions; they end here.
  try {
    return convert(toml::parse(toml));
  } catch (const toml::parse_error& error) {
    return std::unexpected(
        SyntaxError{position_of(error.source()), std::string(error.description())});
  }
}

}  // namespace pqedge::config
