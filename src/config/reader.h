// Typed reading of TOML tables. A Table remembers the keys it was asked for, so that keys nobody
// asked for are found without a second list of them.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/problem.h"
#include "base/time.h"
#include "config/document.h"
#include "net/address.h"

namespace pqedge::config {

// What one reading of a document shares.
struct Reading {
  std::string base_dir;  // relative file paths start here
  Problems problems;
  std::set<std::string>* keys = nullptr;  // when set: every key the reader knows is put there, and
                                          // arrays of tables are read once although empty
  std::set<std::string> mistyped = {};    // keys of a wrong type: nothing more is said of them
};

class Table {
 public:
  // `node` may be null: an absent table, every key keeps its default.
  Table(Reading& reading, const Node* node, std::string path)
      : reading_(reading), node_(node), path_(std::move(path)) {}
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  // Each reads the key into `out` if it is there and of the right type, else leaves `out` alone.
  void read(std::string_view key, bool& out);
  void read(std::string_view key, std::string& out);
  template <std::unsigned_integral T>
  void count(std::string_view key, T& out) {
    if (const auto v = integer(key, std::numeric_limits<T>::max())) out = static_cast<T>(*v);
  }
  // Bytes: an integer or a string such as "64KiB".
  template <std::integral T>
  void size(std::string_view key, T& out) {
    if (const auto v = bytes(key, static_cast<uint64_t>(std::numeric_limits<T>::max()))) {
      out = static_cast<T>(*v);
    }
  }
  void duration(std::string_view key, Nanos& out);  // "500ms", "10s", "5m", "1h", "2d"
  // One string, or an array of strings. An array replaces the defaults in `out`.
  void strings(std::string_view key, std::vector<std::string>& out);
  void addresses(std::string_view key, std::vector<net::Address>& out);
  // A file or directory path; a relative one is made to start at the configuration's directory.
  void path(std::string_view key, std::string& out);

  template <typename T>
  using Choices = std::initializer_list<std::pair<std::string_view, T>>;
  template <typename T>
  void choice(std::string_view key, T& out, Choices<T> choices) {
    const Node* value = typed(key, Node::Type::string);
    if (value == nullptr) return;
    if (const T* chosen = find_choice(key_path(key), value->text, choices)) out = *chosen;
  }
  // take(value) for each entry of an array of choices (or the one string).
  template <typename T, typename Take>
  void choices(std::string_view key, Choices<T> choices, Take&& take) {
    each_string(key, [&](const std::string& path, const std::string& text) {
      if (const T* chosen = find_choice(path, text, choices)) take(*chosen);
    });
  }

  // take(path, text) for the one string or each string of an array.
  template <typename Take>
  void each_string(std::string_view key, Take&& take) {
    each(key, [&](const std::string& path, const Node& value) {
      if (value.type == Node::Type::string) {
        take(path, value.text);
      } else {
        wrong_type(path, value, "a string");
      }
    });
  }
  // take(path, value) for the one value or each entry of an array.
  template <typename Take>
  void each(std::string_view key, Take&& take) {
    const Node* value = find(key);
    if (value == nullptr) return;
    const std::string path = key_path(key);
    if (value->type != Node::Type::array) {
      take(path, *value);
      return;
    }
    for (size_t i = 0; i < value->items.size(); ++i) take(entry_key(path, i), value->items[i]);
  }

  // read(Table&) of the table `key`, absent or not; unknown keys in it are reported after it.
  template <typename Read>
  void table(std::string_view key, Read&& read) {
    const Node* value = typed(key, Node::Type::table);
    nested(value, key_path(key), read);
  }
  // read(Table&, index) of each entry of the array of tables `key`.
  template <typename Read>
  void tables(std::string_view key, Read&& read) {
    const auto at = [&](size_t i) { return [&read, i](Table& t) { read(t, i); }; };
    const Node* value = find(key);
    const std::string path = key_path(key);
    if (reading_.keys != nullptr) {
      nested(nullptr, entry_key(path, 0), at(0));
    }
    if (value == nullptr) return;
    if (value->type != Node::Type::array) {
      wrong_type(path, *value, "an array of tables, [[" + path + "]]");
      return;
    }
    for (size_t i = 0; i < value->items.size(); ++i) {
      if (value->items[i].type == Node::Type::table) {
        nested(&value->items[i], entry_key(path, i), at(i));
      } else {
        wrong_type(entry_key(path, i), value->items[i], "a table");
        nested(nullptr, entry_key(path, i), at(i));  // so that later entries keep their index
      }
    }
  }
  // read(Table&) of a table that stands for an entry of an array.
  template <typename Read>
  void nested(const Node* node, std::string path, Read&& read) {
    Table child(reading_, node, std::move(path));
    read(child);
    child.report_unknown();
  }

  bool has(std::string_view key) const { return node_ != nullptr && node_->find(key) != nullptr; }
  bool absent() const { return node_ == nullptr; }
  std::string key_path(std::string_view key) const;
  void problem(std::string key_path, std::string what, std::string hint = {});
  // A problem when the key is absent from a table that is there.
  void require(std::string_view key, std::string hint = {});
  void report_unknown();
  Reading& reading() { return reading_; }

 private:
  const Node* find(std::string_view key);  // notes the key as known
  const Node* typed(std::string_view key, Node::Type type);
  bool is_mistyped(const std::string& key_path) const;
  void wrong_type(const std::string& path, const Node& value, std::string_view wanted);
  std::optional<uint64_t> integer(std::string_view key, uint64_t most);
  std::optional<uint64_t> bytes(std::string_view key, uint64_t most);
  std::optional<uint64_t> in_range(std::string_view key, int64_t value, uint64_t most);

  template <typename T>
  const T* find_choice(std::string path, const std::string& text, Choices<T> choices) {
    std::vector<std::string_view> names;
    for (const auto& [name, value] : choices) {
      if (name == text) return &value;
      names.push_back(name);
    }
    unknown_choice(std::move(path), text, names);
    return nullptr;
  }
  void unknown_choice(std::string path, const std::string& text,
                      const std::vector<std::string_view>& names);

  Reading& reading_;
  const Node* node_;
  std::string path_;
  std::vector<std::string> known_;
};

}  // namespace pqedge::config
