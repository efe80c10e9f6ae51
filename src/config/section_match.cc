// What a route matches (R1): hosts, path, method, fields, parameters, client, priority.
#include <format>
#include <vector>

#include "config/section_readers.h"

namespace pqedge::config {
namespace {

// { name = "x-tenant", value = "blue" }: with one of value, prefix, regex and present.
void read_value(Table& t, route::ValueMatch& m) {
  using Kind = route::ValueMatch::Kind;
  t.read("name", m.name);
  t.require("name");
  std::vector<const char*> ways;
  for (const auto& [key, kind] :
       {std::pair{"value", Kind::exact}, std::pair{"prefix", Kind::prefix},
        std::pair{"regex", Kind::regex}}) {
    t.read(key, m.value);
    if (!t.has(key)) continue;
    ways.push_back(key);
    m.kind = kind;
  }
  bool present = true;
  t.read("present", present);
  if (t.has("present")) {
    ways.push_back("present");
    m.kind = present ? Kind::present : Kind::absent;
  }
  const char* hint = "give it one of value, prefix, regex and present";
  if (ways.empty() && !t.absent()) t.problem(t.key_path("value"), "is missing", hint);
  if (ways.size() > 1) {
    t.problem(t.key_path(ways[1]), std::format("is there beside {}", ways[0]), hint);
  }
}

void read_values(Table& t, std::string_view key, std::vector<route::ValueMatch>& out) {
  t.tables(key, [&](Table& entry, size_t) { read_value(entry, out.emplace_back()); });
}

}  // namespace

void read_route_match(Table& t, route::RouteSettings& s) {
  t.strings("hosts", s.hosts);
  t.read("path", s.path);
  t.read("path_prefix", s.path_prefix);
  t.read("path_regex", s.path_regex);
  t.strings("methods", s.methods);
  read_values(t, "headers", s.headers);
  read_values(t, "query", s.query);
  t.each_string("client_networks", [&](const std::string& path, const std::string& text) {
    if (const auto network = net::Network::parse(text)) {
      s.clients.push_back(*network);
    } else {
      t.problem(path, network.error().message);
    }
  });
  t.count("priority", s.priority);
  if (t.has("path_regex") && s.path_regex.empty()) {
    t.problem(t.key_path("path_regex"), "is empty", "leave it out, or give it a value");
  }
}

}  // namespace pqedge::config
