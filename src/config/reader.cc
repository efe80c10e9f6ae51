#include "config/reader.h"

#include <algorithm>
#include <filesystem>
#include <format>

#include "base/text.h"
#include "config/units.h"

namespace pqedge::config {
namespace {

// "route[2].path" -> "route.path"
std::string without_indices(std::string_view path) {
  std::string out;
  bool inside = false;
  for (const char c : path) {
    if (c == '[') inside = true;
    if (!inside) out += c;
    if (c == ']') inside = false;
  }
  return out;
}

}  // namespace

std::string Table::key_path(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

void Table::problem(std::string key_path, std::string what, std::string hint) {
  // What follows from its wrong type, or that of an entry: it is empty, or no number.
  if (is_mistyped(key_path)) return;
  reading_.problems.push_back({std::move(key_path), std::move(what), std::move(hint)});
}

void Table::require(std::string_view key, std::string hint) {
  if (node_ != nullptr && !has(key)) problem(key_path(key), "is missing", std::move(hint));
}

const Node* Table::find(std::string_view key) {
  if (std::ranges::find(known_, key) == known_.end()) known_.emplace_back(key);
  if (reading_.keys != nullptr) reading_.keys->insert(without_indices(key_path(key)));
  if (node_ == nullptr) return nullptr;
  const Member* member = node_->find(key);
  return member == nullptr ? nullptr : &member->value;
}

const Node* Table::typed(std::string_view key, Node::Type type) {
  const Node* value = find(key);
  if (value == nullptr || value->type == type) return value;
  wrong_type(key_path(key), *value, type_name(type));
  return nullptr;
}

bool Table::is_mistyped(const std::string& key_path) const {
  if (reading_.mistyped.contains(key_path)) return true;
  const auto entry = reading_.mistyped.lower_bound(key_path + "[");
  return entry != reading_.mistyped.end() && entry->starts_with(key_path + "[");
}

void Table::wrong_type(const std::string& path, const Node& value, std::string_view wanted) {
  problem(path, std::format("is {}, not {}", type_name(value.type), wanted));
  reading_.mistyped.insert(path);
}

void Table::read(std::string_view key, bool& out) {
  if (const Node* value = typed(key, Node::Type::boolean)) out = value->boolean;
}

void Table::read(std::string_view key, std::string& out) {
  if (const Node* value = typed(key, Node::Type::string)) out = value->text;
}

std::optional<uint64_t> Table::in_range(std::string_view key, int64_t value, uint64_t most) {
  if (value >= 0 && static_cast<uint64_t>(value) <= most) return static_cast<uint64_t>(value);
  problem(key_path(key), std::format("{} is out of range", value),
          std::format("it may be 0 to {}", most));
  return std::nullopt;
}

std::optional<uint64_t> Table::integer(std::string_view key, uint64_t most) {
  const Node* value = typed(key, Node::Type::integer);
  return value == nullptr ? std::nullopt : in_range(key, value->integer, most);
}

std::optional<uint64_t> Table::bytes(std::string_view key, uint64_t most) {
  const Node* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->type == Node::Type::integer) return in_range(key, value->integer, most);
  if (value->type != Node::Type::string) {
    wrong_type(key_path(key), *value, "a size");
    return std::nullopt;
  }
  const auto size = parse_size(value->text);
  if (!size || *size > most) {
    problem(key_path(key), in_quotes(value->text) + (size ? " is too large" : " is not a size"),
            size ? std::format("the most is {}", size_text(most))
                 : "write bytes, or a whole number with KiB, MiB, GiB, KB, MB or GB: \"64KiB\"");
    return std::nullopt;
  }
  return size;
}

void Table::duration(std::string_view key, Nanos& out) {
  const Node* value = find(key);
  if (value == nullptr) return;
  if (value->type == Node::Type::integer) {
    problem(key_path(key), "has no unit", std::format("write \"{}s\"", value->integer));
  } else if (value->type != Node::Type::string) {
    wrong_type(key_path(key), *value, "a duration");
  } else if (const auto parsed = parse_duration(value->text)) {
    out = *parsed;
  } else {
    problem(key_path(key), in_quotes(value->text) + " is not a duration",
            "write a whole number with ms, s, m, h or d: \"500ms\", \"10s\"");
  }
}

void Table::strings(std::string_view key, std::vector<std::string>& out) {
  if (find(key) == nullptr) return;
  out.clear();
  each_string(key, [&](const std::string&, const std::string& text) { out.push_back(text); });
}

void Table::addresses(std::string_view key, std::vector<net::Address>& out) {
  if (find(key) == nullptr) return;
  out.clear();
  each_string(key, [&](const std::string& path, const std::string& text) {
    if (const auto address = net::Address::parse(text)) {
      out.push_back(*address);
    } else {
      problem(path, address.error().message);
    }
  });
}

void Table::path(std::string_view key, std::string& out) {
  const Node* value = typed(key, Node::Type::string);
  if (value == nullptr) return;
  if (value->text.empty()) {
    problem(key_path(key), "is empty", "name a file, or leave the key out");
  } else if (value->text.find('\0') != std::string::npos) {
    problem(key_path(key), "has a NUL byte in it");
  } else {
    out = (std::filesystem::path(reading_.base_dir) / value->text).lexically_normal().string();
  }
}

void Table::unknown_choice(std::string path, const std::string& text,
                           const std::vector<std::string_view>& names) {
  std::string hint = did_you_mean(text, names);
  if (hint.empty()) {
    hint = "it may be ";
    for (size_t i = 0; i < names.size(); ++i) {
      if (i > 0) hint += i + 1 == names.size() ? " or " : ", ";
      hint += in_quotes(names[i]);
    }
  }
  problem(std::move(path), in_quotes(text) + " is not known here", std::move(hint));
}

void Table::report_unknown() {
  if (node_ == nullptr) return;
  for (const Member& member : node_->members) {
    if (std::ranges::find(known_, member.key) != known_.end()) continue;
    problem(key_path(member.key), "is not a key", did_you_mean(member.key, known_));
  }
}

}  // namespace pqedge::config
