// Routes with conditions on fields, parameters and clients: whatever a request holds, the route
// that takes it is one whose conditions hold, by what the conditions say of themselves, and a
// parameter is found by a plain reader of queries where the route wants it.
//
// Input: the target, a line end, then lines "name: value".
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/text.h"
#include "http/uri.h"
#include "route/table.h"

namespace {

using namespace pqedge;
using Kind = route::ValueMatch::Kind;

void require(bool holds) {
  if (!holds) std::abort();
}

const route::Table& table() {
  static const route::Table t = [] {
    std::vector<route::RouteSettings> all;
    const auto add = [&](std::string name) -> route::RouteSettings& {
      route::RouteSettings& r = all.emplace_back();
      r.name = std::move(name);
      r.answer_status = 204;
      return r;
    };
    all.reserve(8);
    add("colour").query = {{.name = "colour", .kind = Kind::exact, .value = "dark blue"}};
    add("pattern").path_regex = "/p/[a-z]+(/[0-9]{1,4})?";
    add("field").headers = {{.name = "X-Version", .kind = Kind::regex, .value = "v[0-9]+"}};
    add("both").headers = {{.name = "Accept", .kind = Kind::prefix, .value = "text/"},
                           {.name = "Cookie", .kind = Kind::absent}};
    add("client").clients = {*net::Network::parse("2001:db8::/32")};
    add("prefix").path_prefix = "/a/b";
    add("host").hosts = {"*.a.test"};
    auto made = route::Table::compile(std::move(all));
    require(made.has_value());
    return std::move(*made);
  }();
  return t;
}

// The percent-decoded text, '+' for a space; what is malformed stays.
std::string decoded(std::string_view s) {
  std::string out;
  for (size_t i = 0; i < s.size(); ++i) {
    const auto digit = [&](size_t at) { return at < s.size() ? hex_value(s[at]) : -1; };
    if (s[i] == '%' && digit(i + 1) >= 0 && digit(i + 2) >= 0) {
      out += static_cast<char>(digit(i + 1) * 16 + digit(i + 2));
      i += 2;
    } else {
      out += s[i] == '+' ? ' ' : s[i];
    }
  }
  return out;
}

bool has_parameter(std::string_view query, std::string_view name, std::string_view value) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos) continue;
    if (decoded(pair.substr(0, equals)) == name && decoded(pair.substr(equals + 1)) == value) {
      return true;
    }
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 4096) return 0;
  std::string_view rest = as_text(Bytes(data, size));
  const auto line = [&rest] {
    const std::string_view text = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), text.size() + 1));
    return text;
  };
  Arena arena;
  http::Request r(arena);
  r.version = http::Version::http2;
  r.method = http::Method::get;
  r.method_text = "GET";
  r.scheme = "https";
  r.target = line();
  r.authority = "a.test";
  for (int i = 0; i < 32 && !rest.empty(); ++i) {
    const std::string_view text = line();
    const std::string_view name = text.substr(0, text.find(':'));
    const std::string_view value = trim_ows(text.substr(std::min(name.size() + 1, text.size())));
    if (iequals(name, "host")) {
      r.authority = value;
    } else if (http::is_token(name) && http::is_field_value(value)) {
      r.fields.add(name, value);
    }
  }
  if (!http::canonicalise(r)) return 0;
  for (const std::string_view client : {"192.0.2.1", "2001:db8::7"}) {
    const route::Subject subject{r, client};
    const route::Route* const route = table().match(subject);
    if (has_parameter(r.query, "colour", "dark blue")) require(route != nullptr);
    if (route == nullptr) continue;
    require(route->conditions.hold(subject) && route->conditions.failed(subject).empty());
    if (route->settings.name == "client") require(client.starts_with("2001:db8:"));
    if (route->settings.name == "prefix") {
      require(r.path == "/a/b" || r.path.starts_with("/a/b/"));
    }
    if (route->settings.name == "host") require(r.host.ends_with(".a.test"));
    if (route->settings.name == "colour") {
      require(has_parameter(r.query, "colour", "dark blue"));
    }
  }
  return 0;
}
