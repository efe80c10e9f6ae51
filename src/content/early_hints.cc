#include "content/early_hints.h"

#include "base/text.h"
#include "http/rules.h"

namespace pqedge::content {
namespace {

// The parameters behind the target: *( OWS ";" OWS [ token [ BWS "=" BWS value ] ] ).
class Parameters {
 public:
  explicit Parameters(std::string_view rest) : rest_(rest) {}

  // Empty: they are well formed.
  std::string_view fault() {
    for (;;) {
      skip_spaces();
      if (rest_.empty()) return related_ ? std::string_view{} : "has no rel";
      if (rest_.front() == ',') return "holds more than one link";
      if (!take(';')) return "has something behind the target that is no parameter";
      skip_spaces();
      if (const std::string_view what = parameter(); !what.empty()) return what;
    }
  }

 private:
  std::string_view parameter() {
    const std::string_view name = token();
    if (name.empty()) return "has a parameter without a name";
    skip_spaces();
    std::string_view value;
    if (take('=')) {
      skip_spaces();
      if (rest_.starts_with('"')) {
        if (!quoted(value)) return "has a quoted text that does not end";
      } else if ((value = token()).empty()) {
        return "has a parameter without a value";
      }
    }
    if (iequals(name, "rel") && !value.empty()) related_ = true;
    return {};
  }

  void skip_spaces() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t')) {
      rest_.remove_prefix(1);
    }
  }
  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string_view token() {
    size_t n = 0;
    while (n < rest_.size() && http::is_token(rest_.substr(n, 1))) ++n;
    const std::string_view taken = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return taken;
  }
  bool quoted(std::string_view& value) {
    for (size_t n = 1; n < rest_.size(); ++n) {
      if (rest_[n] == '\\') {
        ++n;
      } else if (rest_[n] == '"') {
        value = rest_.substr(1, n - 1);
        rest_.remove_prefix(n + 1);
        return true;
      }
    }
    return false;
  }

  std::string_view rest_;
  bool related_ = false;
};

}  // namespace

std::string_view link_fault(std::string_view link) {
  if (link.size() > kMaxEarlyHintSize) return "is longer than 2048 bytes";
  if (!http::is_field_value(link)) return "has a byte that no header field may have";
  if (!link.starts_with('<')) return "does not begin with <TARGET>";
  const size_t end = link.find('>');
  if (end == std::string_view::npos) return "has a target without its '>'";
  const std::string_view target = link.substr(1, end - 1);
  for (const char c : target) {
    if (c <= ' ' || c == '<' || c == '"' || static_cast<unsigned char>(c) >= 0x7f) {
      return "has a target that is no URL";
    }
  }
  return Parameters(link.substr(end + 1)).fault();
}

bool wants_early_hints(const http::Request& request) {
  if (request.method != http::Method::get || request.version == http::Version::http10) return false;
  if (!request.upgrade.empty()) return false;
  const http::Field* mode = request.fields.find(http::Name::sec_fetch_mode);
  return mode == nullptr || mode->value == "navigate";
}

void fill_early_hints(http::Response& hints, const std::vector<std::string>& links) {
  hints.status = 103;
  for (const std::string& link : links) hints.fields.add(http::Name::link, link);
}

void strip_informational(http::Response& response) {
  http::strip_hop_by_hop(response.fields);
  response.fields.remove(http::Name::content_length);
  response.fields.remove(http::Name::alt_svc);
  response.fields.remove(http::Name::trailer);
}

}  // namespace pqedge::content
