#include <charconv>
#include <cmath>

#include "base/text.h"
#include "measure/record/fields.h"
#include "measure/record/json.h"

namespace pqedge::measure {
namespace {

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  template <typename T>
  void operator()(std::string_view name, const T& value, std::string_view) {
    if constexpr (is_optional<T>) {
      if (value) member(name, *value);
    } else {
      member(name, value);
    }
  }
  template <typename T>
  void when_any(std::string_view name, const T& value, std::string_view) {
    if (!value.empty()) member(name, value);
  }
  void nullable(std::string_view name, const std::optional<double>& value, std::string_view) {
    if (value) return member(name, *value);
    key(name);
    out_ += "null";
  }
  void any_sign(std::string_view name, const std::optional<double>& value, std::string_view) {
    if (value) member(name, *value);
  }
  void derived(std::string_view name, size_t value, std::string_view) { member(name, value); }

  template <Described T>
  void write(const T& value) {
    open('{');
    fields(*this, value);
    close('}');
  }

 private:
  template <typename T>
  void member(std::string_view name, const T& value) {
    key(name);
    write(value);
  }

  void write(const std::string& text) {
    out_ += '"';
    append_json_escaped(out_, text);
    out_ += '"';
  }
  void write(bool value) { out_ += value ? "true" : "false"; }
  template <std::integral T>
  void write(T value) {
    out_ += std::to_string(value);
  }
  // The shortest text that reads back as the same double: at most 17 significant digits.
  void write(double value) {
    if (!std::isfinite(value)) {
      out_ += "null";  // check_record() refuses it
      return;
    }
    char text[32];
    // Plus zero: "-0" would come back as a whole number without its sign.
    out_.append(text, std::to_chars(text, text + sizeof text, value + 0.0).ptr);
  }
  void write(const std::pair<double, double>& both) {
    out_ += '[';
    write(both.first);
    out_ += ", ";
    write(both.second);
    out_ += ']';
  }
  template <typename T>
  void write(const std::vector<T>& list) {
    // Numbers stand in one line; what has members of its own, one a line.
    if constexpr (std::is_arithmetic_v<T>) {
      out_ += '[';
      for (size_t i = 0; i < list.size(); ++i) {
        if (i != 0) out_ += ", ";
        write(list[i]);
      }
      out_ += ']';
    } else {
      open('[');
      for (const T& item : list) {
        next();
        write(item);
      }
      close(']');
    }
  }
  template <typename T>
  void write(const std::map<std::string, T>& map) {
    open('{');
    for (const auto& [name, value] : map) member(name, value);
    close('}');
  }

  void key(std::string_view name) {
    next();
    out_ += '"';
    append_json_escaped(out_, name);
    out_ += "\": ";
  }
  void open(char bracket) {
    out_ += bracket;
    ++depth_;
    empty_ = true;
  }
  void next() {
    if (!empty_) out_ += ',';
    empty_ = false;
    line();
  }
  void close(char bracket) {
    --depth_;
    if (!empty_) line();
    out_ += bracket;
    empty_ = false;
  }
  void line() {
    out_ += '\n';
    out_.append(depth_ * 2, ' ');
  }

  std::string& out_;
  size_t depth_ = 0;
  bool empty_ = true;
};

}  // namespace

std::string to_json(const Record& record) {
  std::string out;
  Writer(out).write(record);
  out += '\n';
  return out;
}

}  // namespace pqedge::measure
