#include "upstream/server_list.h"

#include <nlohmann/json.hpp>
#include <set>

#include "base/problem.h"

namespace pqedge::upstream {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxId = 64;
constexpr int kMaxDepth = 4;

// Without exceptions, and without recursion that a text could deepen at will.
Result<Json> parse_json(std::string_view text) {
  if (text.size() > kMaxServerListBytes) {
    return fail("the list is longer than {}", size_text(kMaxServerListBytes));
  }
  bool too_deep = false;
  const auto shallow = [&too_deep](int depth, Json::parse_event_t, Json&) {
    too_deep |= depth > kMaxDepth;
    return !too_deep;
  };
  Json json = Json::parse(text.begin(), text.end(), shallow, false);
  if (too_deep || json.is_discarded()) {
    return fail(
        "this is no list of servers in JSON: write [\"192.0.2.1:80\", "
        "{{\"address\": \"192.0.2.2:80\", \"weight\": 2}}]");
  }
  return json;
}

Result<void> read_number(const Json& entry, const char* key, uint32_t most, uint32_t& out) {
  const auto it = entry.find(key);
  if (it == entry.end()) return {};
  if (!it->is_number_unsigned() || it->get<uint64_t>() > most) {
    return fail("{} is a whole number from 0 to {}", key, most);
  }
  out = it->get<uint32_t>();
  return {};
}

Result<void> read_id(const Json& entry, std::string& out) {
  const auto it = entry.find("id");
  if (it == entry.end()) return {};
  if (!it->is_string()) return fail("id is a text");
  out = it->get<std::string>();
  Problems problems;
  check_label(problems, "id", out);
  if (!problems.empty() || out.size() > kMaxId) return fail("id {}", problems.front().what);
  return {};
}

Result<ServerSettings> read_entry(const Json& entry) {
  ServerSettings server;
  if (entry.is_string()) {
    server.name = entry.get<std::string>();
  } else if (entry.is_object()) {
    for (const auto& item : entry.items()) {
      const std::string& key = item.key();
      if (key != "address" && key != "weight" && key != "priority" && key != "id") {
        return fail("{} is no key of a server", in_quotes(key.substr(0, 100)));
      }
    }
    const auto address = entry.find("address");
    if (address == entry.end() || !address->is_string()) return fail("address is missing");
    server.name = address->get<std::string>();
    if (auto ok = read_number(entry, "weight", kMaxWeight, server.weight); !ok) {
      return std::unexpected(ok.error());
    }
    if (auto ok = read_number(entry, "priority", kMaxPriority, server.priority); !ok) {
      return std::unexpected(ok.error());
    }
    if (auto ok = read_id(entry, server.id); !ok) return std::unexpected(ok.error());
  } else {
    return fail("this is neither an address nor an object");
  }
  const auto address = net::Address::parse(server.name);
  if (!address) return fail("{}", address.error().message);
  if (auto ok = check_server_address(*address); !ok) return std::unexpected(ok.error());
  server.address = *address;
  server.name = address->to_string();
  return server;
}

}  // namespace

Result<void> check_server_address(const net::Address& address) {
  if (address.is_ip() && address.port() == 0) return fail("port 0 cannot be connected to");
  if (address.is_ip() && address.is_any()) return fail("{} names no machine", address.ip());
  return {};
}

Result<std::vector<ServerSettings>> parse_server_list(std::string_view text) {
  const auto json = parse_json(text);
  if (!json) return std::unexpected(json.error());
  const Json* list = &*json;
  if (json->is_object()) {
    const auto it = json->find("servers");
    if (it == json->end() || json->size() != 1) {
      return fail("an object has \"servers\", and nothing else");
    }
    list = &*it;
  }
  if (!list->is_array()) return fail("the servers are an array");
  if (list->size() > kMaxServers) return fail("there are more than {} servers", kMaxServers);
  std::vector<ServerSettings> servers;
  std::set<std::string> seen;
  std::set<std::string> ids;
  for (size_t i = 0; i < list->size(); ++i) {
    auto server = read_entry((*list)[i]);
    if (!server) return fail("server {}: {}", i + 1, server.error().message);
    if (!seen.insert(server->name).second) {
      return fail("server {}: {} is there twice", i + 1, server->name);
    }
    if (!server->id.empty() && !ids.insert(server->id).second) {
      return fail("server {}: the id {} is there twice", i + 1, server->id);
    }
    servers.push_back(std::move(*server));
  }
  return servers;
}

Result<ServerSettings> parse_server(std::string_view text) {
  const auto json = parse_json(text);
  if (!json) return std::unexpected(json.error());
  return read_entry(*json);
}

}  // namespace pqedge::upstream
