// The servers of a [[pool]], as they are written there.
#include <format>

#include "config/section_readers.h"

namespace pqedge::config {
namespace {

void read_entry(Table& t, const std::string& path, const Node* value,
                upstream::PoolSettings& pool) {
  t.nested(value, path, [&](Table& entry) {
    std::string text;
    upstream::ServerSettings server;
    entry.require("address", "write { address = \"127.0.0.1:9000\" }");
    entry.read("address", text);
    entry.count("weight", server.weight);
    entry.count("priority", server.priority);
    entry.read("id", server.id);
    if (entry.has("id") && server.id.empty()) {
      entry.problem(entry.key_path("id"), "is empty", "leave it out, or give it a value");
    }
    if (text.empty()) return;
    if (const auto address = net::Address::parse(text)) {
      server.address = *address;
      server.name = text;
      pool.servers.push_back(std::move(server));
    } else {
      t.problem(path + ".address", address.error().message);
    }
  });
}

}  // namespace

void read_servers(Table& t, upstream::PoolSettings& pool) {
  if (t.reading().keys != nullptr) read_entry(t, t.key_path("servers"), nullptr, pool);
  t.each("servers", [&](const std::string& path, const Node& value) {
    if (value.type == Node::Type::table) {
      read_entry(t, path, &value, pool);
    } else if (value.type != Node::Type::string) {
      t.problem(path, std::format("is {}, not a server", type_name(value.type)),
                "write \"ADDRESS:PORT\", \"unix:/PATH\" or { address = \"...\" }");
    } else if (const auto address = net::Address::parse(value.text)) {
      pool.servers.push_back({.address = *address, .name = value.text});
    } else {
      t.problem(path, address.error().message);
    }
  });
}

}  // namespace pqedge::config
