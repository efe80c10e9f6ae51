#include "edge/passthrough.h"

#include <algorithm>

#include "crypto/client_hello.h"
#include "crypto/server_name.h"
#include "edge/settings.h"

namespace pqedge::edge {
namespace {

constexpr Nanos kPassOver = 1 * kSecond;

Passthrough::Count make_count(const std::string& name, std::string_view transport) {
  const counters::Labels labels = {{"passthrough", name}, {"transport", std::string(transport)}};
  return {
      counters::Counter("pqedge_passthrough_connections_total",
                        "Connections passed on without being decrypted.", labels),
      counters::Counter("pqedge_passthrough_connections", "Those open now.", labels,
                        counters::Kind::gauge),
      counters::Counter("pqedge_passthrough_failed_total", "Those that no server of the pool took.",
                        labels),
      counters::Counter("pqedge_passthrough_received_bytes_total", "Bytes of theirs from clients.",
                        labels),
      counters::Counter("pqedge_passthrough_sent_bytes_total", "Bytes of theirs to clients.",
                        labels),
  };
}

// The rule of routes is in route::Table: a passthrough is a route for every path of its hosts.
Result<route::Table> compile_hosts(const std::vector<PassthroughRef>& entries) {
  std::vector<route::RouteSettings> routes;
  for (const PassthroughRef& p : entries) {
    route::RouteSettings r;
    r.name = p->settings.name;
    r.hosts = p->settings.hosts;
    r.pool = p->settings.pool;
    routes.push_back(std::move(r));
  }
  return route::Table::compile(std::move(routes));
}

bool begins(Bytes id, Bytes with) {
  return id.size() >= with.size() && std::ranges::equal(id.first(with.size()), with);
}

// Bytes of `id` that name the server, or 0.
size_t names(const ServerIdSettings& server, Bytes id) {
  if (!server.prefix.empty()) return begins(id, server.prefix) ? server.prefix.size() : 0;
  if (id.empty() || id[0] >> 5 != server.rotation) return 0;
  return begins(id.subspan(1), server.quic_lb) ? 1 + server.quic_lb.size() : 0;
}

}  // namespace

// ---- one passthrough ----------------------------------------------------------------------------

Passthrough::Passthrough(PassthroughSettings s, upstream::PoolSettings p,
                         upstream::Registry& registry)
    : settings(std::move(s)), pool(std::move(p)) {
  picker_ = std::make_unique<upstream::Picker>(pool, upstream::configured_members(registry, pool));
  count_[0] = make_count(settings.name, "tcp");
  count_[1] = make_count(settings.name, "udp");
}

std::shared_ptr<upstream::ServerState> Passthrough::server(const net::Address& address) const {
  for (const upstream::Member& m : picker_->members()) {
    if (m.state->address == address) return m.state;
  }
  return nullptr;
}

PassthroughLease::PassthroughLease(std::shared_ptr<upstream::ServerState> server)
    : server_(std::move(server)) {
  if (server_ == nullptr) return;
  server_->active.fetch_add(1, std::memory_order_relaxed);
  server_->connections.fetch_add(1, std::memory_order_relaxed);
  server_->count.connects.add();
  server_->count.open.add();
}

PassthroughLease& PassthroughLease::operator=(PassthroughLease&& o) noexcept {
  if (this != &o) {
    release();
    server_ = std::move(o.server_);
  }
  return *this;
}

void PassthroughLease::release() {
  if (server_ == nullptr) return;
  server_->active.fetch_sub(1, std::memory_order_relaxed);
  server_->connections.fetch_sub(1, std::memory_order_relaxed);
  server_->count.open.subtract();
  server_.reset();
}

void PassthroughLease::note_failure(Nanos now) {
  if (server_ == nullptr) return;
  server_->passed_over_until.store(now + kPassOver, std::memory_order_relaxed);
  server_->count.connect_failures.add();
}

// ---- a listener's table -------------------------------------------------------------------------

Result<PassthroughTable> PassthroughTable::compile(std::vector<PassthroughRef> entries) {
  PassthroughTable table;
  for (PassthroughRef& p : entries) {
    if (p->settings.tls) table.entries_[0].push_back(p);
    if (p->settings.quic) table.entries_[1].push_back(p);
  }
  for (size_t t = 0; t < 2; ++t) {
    auto hosts = compile_hosts(table.entries_[t]);
    if (!hosts) return std::unexpected(hosts.error());
    table.hosts_[t] = std::move(*hosts);
  }
  return table;
}

PassthroughRef PassthroughTable::find(PassthroughTransport t, std::string_view host) const {
  const auto i = static_cast<size_t>(t);
  if (host.empty() || entries_[i].empty()) return nullptr;
  const route::Route* route = hosts_[i].match(host, "/");
  return route == nullptr ? nullptr : entries_[i][route->index];
}

PassthroughTable::Followed PassthroughTable::follow(Bytes id) const {
  for (const PassthroughRef& p : entries_[static_cast<size_t>(PassthroughTransport::udp)]) {
    for (const ServerIdSettings& s : p->settings.server_ids) {
      const size_t known = names(s, id);
      if (known == 0) continue;
      if (auto server = p->server(s.server)) return {p, std::move(server), known};
    }
  }
  return {};
}

bool holds_on(const PassthroughSettings& passthrough, const ListenerSettings& listener) {
  return listener.tls && !listener.takes_stream() &&
         (passthrough.listeners.empty() ||
          std::ranges::contains(passthrough.listeners, listener.name));
}

PassthroughSet::PassthroughSet(const Settings& settings, upstream::Registry& registry) {
  for (const PassthroughSettings& p : settings.passthroughs) {
    const auto pool = std::ranges::find(settings.pools, p.pool, &upstream::PoolSettings::name);
    if (pool == settings.pools.end()) continue;  // validate() refuses it
    all_.push_back(std::make_shared<const Passthrough>(p, *pool, registry));
  }
}

Result<std::shared_ptr<const PassthroughTable>> PassthroughSet::table_of(
    const ListenerSettings& listener) const {
  std::vector<PassthroughRef> here;
  for (const PassthroughRef& p : all_) {
    if (holds_on(p->settings, listener)) here.push_back(p);
  }
  if (here.empty()) return std::shared_ptr<const PassthroughTable>();
  auto table = PassthroughTable::compile(std::move(here));
  if (!table) return std::unexpected(table.error());
  return std::make_shared<const PassthroughTable>(std::move(*table));
}

std::string host_of_hello(Bytes message) {
  std::string host;
  const auto hello = crypto::parse_client_hello(message);
  if (hello && hello->has_server_name) crypto::judge_server_name(hello->server_name, host);
  return host;
}

}  // namespace pqedge::edge
