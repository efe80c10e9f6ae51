#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/problem.h"
#include "measure/record/fields.h"
#include "measure/record/files.h"
#include "measure/record/json.h"
#include "measure/record/place.h"

namespace pqedge::measure {
namespace {

using InputJson = nlohmann::json;

// A record is nested 8 deep; what is deeper is none.
constexpr int kMaxDepth = 16;

// Reads values by type; the first thing that is wrong is kept and the rest left alone.
struct Reading {
  std::string error;
  bool failed() const { return !error.empty(); }
  void fail(const Place& at, std::string_view what) {
    if (failed()) return;
    const std::string path = at.path();
    error = (path.empty() ? std::string("the document") : path) + ' ' + std::string(what);
  }
};

template <typename T>
void read(Reading& reading, const InputJson& json, const Place& at, T& value);

class ObjectReader {
 public:
  ObjectReader(Reading& reading, const InputJson& object, const Place& at)
      : reading_(reading), object_(object), at_(at) {}

  template <typename T>
  void operator()(std::string_view name, T& value, std::string_view) {
    const InputJson* json = find(name, is_optional<T>);
    if (json == nullptr) return;
    if constexpr (is_optional<T>) {
      if (!json->is_null()) measure::read(reading_, *json, Place{&at_, name}, value.emplace());
    } else {
      measure::read(reading_, *json, Place{&at_, name}, value);
    }
  }
  template <typename T>
  void when_any(std::string_view name, T& value, std::string_view) {
    if (const InputJson* json = find(name, true)) {
      measure::read(reading_, *json, Place{&at_, name}, value);
    }
  }
  void nullable(std::string_view name, std::optional<double>& value, std::string_view about) {
    (*this)(name, value, about);
  }
  void any_sign(std::string_view name, std::optional<double>& value, std::string_view about) {
    (*this)(name, value, about);
  }
  // Its value depends on members that are read later: it is looked at in the end.
  void derived(std::string_view name, size_t, std::string_view) {
    if (const InputJson* json = find(name, false)) {
      size_t written = 0;
      measure::read(reading_, *json, Place{&at_, name}, written);
      derived_.emplace_back(name, written);
    }
  }

  void no_others() {
    if (reading_.failed()) return;
    for (const auto& [name, value] : object_.items()) {
      if (std::ranges::find(known_, name) != known_.end()) continue;
      const std::string hint = did_you_mean(name, known_);
      reading_.fail(Place{&at_, name}, "is not a member of schema " + std::string(kRecordSchema) +
                                           (hint.empty() ? "" : "; " + hint));
      return;
    }
  }

  const std::vector<std::pair<std::string_view, size_t>>& derived_values() const {
    return derived_;
  }

 private:
  const InputJson* find(std::string_view name, bool may_be_missing) {
    known_.push_back(name);
    if (reading_.failed()) return nullptr;
    const auto it = object_.find(name);
    if (it != object_.end()) return &*it;
    if (!may_be_missing) reading_.fail(Place{&at_, name}, "is missing");
    return nullptr;
  }

  Reading& reading_;
  const InputJson& object_;
  const Place& at_;
  std::vector<std::string_view> known_;
  std::vector<std::pair<std::string_view, size_t>> derived_;
};

// The derived values of the structs read, against those that were written.
struct DerivedCheck : FieldProbe {
  DerivedCheck(Reading& to, const Place& place, const ObjectReader& object)
      : reading(to), at(place), read(object) {}
  void derived(std::string_view name, size_t value, std::string_view) {
    for (const auto& [written_name, written] : read.derived_values()) {
      if (written_name == name && written != value) {
        reading.fail(Place{&at, name}, "is " + std::to_string(written) + ", but its parts add to " +
                                           std::to_string(value));
      }
    }
  }
  Reading& reading;
  const Place& at;
  const ObjectReader& read;
};

template <std::integral T>
void read_integer(Reading& reading, const InputJson& json, const Place& at, T& value) {
  if (!json.is_number_integer()) return reading.fail(at, "is not a whole number");
  if (!json.is_number_unsigned()) return reading.fail(at, "is negative");
  const auto number = json.get<uint64_t>();
  if (number > static_cast<uint64_t>(std::numeric_limits<T>::max())) {
    return reading.fail(at, "is too large");
  }
  value = static_cast<T>(number);
}

template <typename T>
void read_list(Reading& reading, const InputJson& json, const Place& at, std::vector<T>& value) {
  if (!json.is_array()) return reading.fail(at, "is not a list");
  value.reserve(json.size());
  for (size_t i = 0; i < json.size() && !reading.failed(); ++i) {
    read(reading, json[i], Place{&at, {}, i}, value.emplace_back());
  }
}

template <typename T>
void read_map(Reading& reading, const InputJson& json, const Place& at,
              std::map<std::string, T>& value) {
  if (!json.is_object()) return reading.fail(at, "is not an object");
  for (const auto& [name, item] : json.items()) {
    read(reading, item, Place{&at, name}, value[name]);
  }
}

template <typename T>
void read(Reading& reading, const InputJson& json, const Place& at, T& value) {
  if (reading.failed()) return;
  if constexpr (std::same_as<T, std::string>) {
    if (!json.is_string()) return reading.fail(at, "is not a text");
    value = json.get<std::string>();
  } else if constexpr (std::same_as<T, bool>) {
    if (!json.is_boolean()) return reading.fail(at, "is not true or false");
    value = json.get<bool>();
  } else if constexpr (std::integral<T>) {
    read_integer(reading, json, at, value);
  } else if constexpr (std::same_as<T, double>) {
    if (!json.is_number()) return reading.fail(at, "is not a number");
    value = json.get<double>();
  } else if constexpr (std::same_as<T, std::pair<double, double>>) {
    if (!json.is_array() || json.size() != 2) return reading.fail(at, "is not a pair of numbers");
    read(reading, json[0], Place{&at, {}, 0}, value.first);
    read(reading, json[1], Place{&at, {}, 1}, value.second);
  } else if constexpr (is_list<T>) {
    read_list(reading, json, at, value);
  } else if constexpr (is_map<T>) {
    read_map(reading, json, at, value);
  } else {
    if (!json.is_object()) return reading.fail(at, "is not an object");
    ObjectReader object(reading, json, at);
    fields(object, value);
    object.no_others();
    if (reading.failed()) return;
    DerivedCheck check(reading, at, object);
    fields(check, value);
  }
}

// "12:7: ", lines and columns from 1.
std::string position(std::string_view text, size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const auto line = 1 + std::ranges::count(before, '\n');
  const size_t start = before.rfind('\n');
  const size_t column = before.size() - (start == std::string_view::npos ? 0 : start + 1);
  return std::format("{}:{}: ", line, std::max<size_t>(column, 1));
}

struct Refused {
  std::string what;
};

// Two members of one name are legal JSON, but then which one counts?
class ShapeCheck {
 public:
  bool operator()(int depth, InputJson::parse_event_t event, InputJson& value) {
    if (depth > kMaxDepth) throw Refused{std::format("nested deeper than {} levels", kMaxDepth)};
    if (event == InputJson::parse_event_t::object_start) {
      names_.emplace_back();
    } else if (event == InputJson::parse_event_t::object_end) {
      names_.pop_back();
    } else if (event == InputJson::parse_event_t::key) {
      const auto& name = value.get_ref<const std::string&>();
      if (!names_.back().insert(name).second) {
        throw Refused{"the member " + in_quotes(name) + " is there twice in one object"};
      }
    }
    return true;
  }

 private:
  std::vector<std::set<std::string>> names_;
};

Result<InputJson> parse(std::string_view text, std::string_view source) {
  if (text.size() > kMaxRecordBytes) {
    return fail("{}: larger than {}: no record of pqcost", source, size_text(kMaxRecordBytes));
  }
  ShapeCheck shape;
  try {
    return InputJson::parse(text, std::ref(shape));
  } catch (const InputJson::parse_error& e) {
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
      return fail("{}: is empty: no record of pqcost", source);
    }
    if (e.byte > text.size()) {
      return fail("{}:{}the file ends in the middle of the JSON text: it was truncated", source,
                  position(text, text.size()));
    }
    return fail("{}:{}not JSON: the file was edited or damaged", source, position(text, e.byte));
  } catch (const InputJson::exception&) {
    return fail("{}: holds a number that is too large", source);
  } catch (const Refused& refused) {
    return fail("{}: {}", source, refused.what);
  }
}

// Before all else: what follows would be misunderstood.
Result<void> check_schema(const InputJson& json, std::string_view source) {
  if (!json.is_object() || !json.contains("schema") || !json["schema"].is_string()) {
    return fail("{}: has no schema name: no record of pqcost", source);
  }
  const auto& name = json["schema"].get_ref<const std::string&>();
  if (name == kRecordSchema) return {};
  const size_t slash = kRecordSchema.find('/') + 1;
  const auto ours = parse_decimal(kRecordSchema.substr(slash));
  const auto theirs = name.starts_with(kRecordSchema.substr(0, slash))
                          ? parse_decimal(std::string_view(name).substr(slash))
                          : std::nullopt;
  if (!theirs) return fail("{}: schema: {} is none of pqcost's", source, in_quotes(name));
  if (*theirs < *ours) {
    return fail("{}: schema: {} is older than {}, which this pqcost reads: measure again", source,
                in_quotes(name), kRecordSchema);
  }
  return fail("{}: schema: {} is newer than {}, which this pqcost reads: use a newer pqcost",
              source, in_quotes(name), kRecordSchema);
}

// Paths hold names from the file, which may hold what a terminal would obey.
std::string printable(std::string_view text) {
  std::string out;
  append_text_escaped(out, text);
  return out;
}

}  // namespace

Result<Record> from_json(std::string_view text, std::string_view source) {
  const auto json = parse(text, source);
  if (!json) return std::unexpected(json.error());
  if (auto schema = check_schema(*json, source); !schema) return std::unexpected(schema.error());
  Record record;
  Reading reading;
  read(reading, *json, Place{}, record);
  if (reading.failed()) return fail("{}: {}", source, printable(reading.error));
  if (auto good = check_record(record); !good) {
    return fail("{}: {}", source, printable(good.error().message));
  }
  return record;
}

Result<Record> read_record(const std::string& path) {
  const auto text = read_file(path, kMaxRecordBytes);
  if (!text) return std::unexpected(text.error());
  return from_json(*text, path);
}

Result<void> write_record(const Record& record, const std::string& path) {
  if (auto good = check_record(record); !good) {
    return fail("{}: not written, the record is not in order: {}", path, good.error().message);
  }
  return write_file(path, to_json(record));
}

}  // namespace pqedge::measure
