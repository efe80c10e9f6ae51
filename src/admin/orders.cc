#include "admin/orders.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/problem.h"
#include "upstream/server_list.h"

namespace pqedge::admin {
namespace {

using edge::PoolOrder;
using Json = nlohmann::json;
using Kind = PoolOrder::Kind;

constexpr std::string_view kBackendsFolder = "/backends/";

constexpr std::pair<std::string_view, Kind> kKinds[] = {
    {"add", Kind::add},     {"remove", Kind::remove}, {"weight", Kind::weight},
    {"drain", Kind::drain}, {"ready", Kind::ready},   {"reset", Kind::reset}};

std::unexpected<Error> refuse(int status, std::string text) {
  return std::unexpected(Error{std::move(text), status});
}

Result<PoolOrder> read_named(PoolOrder order, std::string_view body) {
  // Without exceptions; nothing in it may be nested.
  const auto flat = [](int depth, Json::parse_event_t, Json&) { return depth <= 1; };
  const Json json = Json::parse(body.begin(), body.end(), flat, false);
  const bool weighs = order.kind == Kind::weight;
  const auto server = json.is_object() ? json.find("server") : json.end();
  if (!json.is_object() || server == json.end() || !server->is_string() ||
      json.size() != (weighs ? 2U : 1U)) {
    return refuse(400, weighs ? "write {\"server\": \"ADDRESS\", \"weight\": 1}"
                              : "write {\"server\": \"ADDRESS\"}");
  }
  order.server = server->get<std::string>();
  if (!weighs) return order;
  const auto weight = json.find("weight");
  if (weight == json.end() || !weight->is_number_unsigned() ||
      weight->get<uint64_t>() > upstream::kMaxWeight) {
    return refuse(400, std::format("weight is a whole number from 0 to {}", upstream::kMaxWeight));
  }
  order.weight = weight->get<uint32_t>();
  return order;
}

}  // namespace

Result<PoolOrder> read_order(http::Method method, std::string_view path, std::string_view body) {
  const size_t slash = path.find('/', kBackendsFolder.size());
  if (!path.starts_with(kBackendsFolder) || slash == std::string_view::npos) {
    return refuse(404, "there is no such page; / lists them");
  }
  PoolOrder order;
  order.pool = path.substr(kBackendsFolder.size(), slash - kBackendsFolder.size());
  const std::string_view word = path.substr(slash + 1);
  if (word == "servers") {
    if (method != http::Method::put) return refuse(405, "PUT");
    order.kind = Kind::replace;
    auto servers = upstream::parse_server_list(body);
    if (!servers) return refuse(400, servers.error().message);
    order.servers = std::move(*servers);
    return order;
  }
  for (const auto& [name, kind] : kKinds) {
    if (word != name) continue;
    if (method != http::Method::post) return refuse(405, "POST");
    order.kind = kind;
    if (kind != Kind::add) return read_named(std::move(order), body);
    auto server = upstream::parse_server(body);
    if (!server) return refuse(400, server.error().message);
    order.servers.push_back(std::move(*server));
    return order;
  }
  return refuse(404, "there is no such order; / lists them");
}

}  // namespace pqedge::admin
