// Shared by the tests of http: heads from short lists, and what is left of them.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "http/message.h"
#include "net/facts.h"

namespace pqedge::http {

using FieldList = std::initializer_list<std::pair<std::string_view, std::string_view>>;

inline void add_all(Fields& fields, const FieldList& list) {
  for (const auto& [name, value] : list) fields.add(name, value);
}

// "name: value" lines in the order they stand, names as they are written.
inline std::vector<std::string> lines(const Fields& fields) {
  std::vector<std::string> all;
  fields.for_each(
      [&](const Field& f) { all.push_back(std::string(f.name) + ": " + std::string(f.value)); });
  return all;
}

// All values of a name, whatever the case.
inline std::vector<std::string> values(const Fields& fields, std::string_view name) {
  std::vector<std::string> all;
  const Name id = known_name(name);
  fields.for_each([&](const Field& f) {
    const bool same = id != Name::other ? f.id == id : std::string_view(f.name) == name;
    if (same) all.emplace_back(f.value);
  });
  return all;
}

inline Request make_request(Arena& arena, const FieldList& list,
                            Version version = Version::http11) {
  Request r(arena);
  r.version = version;
  r.method = Method::get;
  r.method_text = "GET";
  r.scheme = "https";
  r.target = "/";
  add_all(r.fields, list);
  return r;
}

inline net::ConnectionFacts facts_of(std::string_view peer) {
  net::ConnectionFacts facts;
  facts.peer = *net::Address::parse(peer);
  facts.local = *net::Address::parse("192.0.2.9:443");
  facts.transport = net::Transport::tls;
  return facts;
}

}  // namespace pqedge::http
