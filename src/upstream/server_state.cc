#include "upstream/server_state.h"

namespace pqedge::upstream {
namespace {

counters::Counter series(std::string_view name, std::string_view help, const ServerState& s,
                         counters::Kind kind = counters::Kind::counter) {
  return counters::Counter(name, help, {{"pool", s.pool}, {"server", s.name}}, kind);
}

}  // namespace

ServerState::ServerState(std::string pool_name, const ServerSettings& settings)
    : pool(std::move(pool_name)), name(settings.name), address(settings.address) {
  count.requests = series("pqedge_backend_requests_total", "Requests sent to the server.", *this);
  count.connects = series("pqedge_backend_connects_total", "Connections opened to it.", *this);
  count.connect_failures =
      series("pqedge_backend_connect_failures_total", "Connections that failed to open.", *this);
  count.resets = series("pqedge_backend_resets_total", "Exchanges the server broke off.", *this);
  count.retries = series("pqedge_backend_retries_total", "Requests sent again elsewhere.", *this);
  count.tls_resumptions = series("pqedge_backend_tls_resumptions_total",
                                 "TLS handshakes with it that resumed a session.", *this);
  count.tls_hello_retries =
      series("pqedge_backend_tls_hello_retries_total",
             "TLS handshakes in which it asked for another key share.", *this);
  count.open = series("pqedge_backend_connections", "Connections open now.", *this,
                      counters::Kind::gauge);
}

std::shared_ptr<ServerState> Registry::get(const std::string& pool, const ServerSettings& server) {
  const std::lock_guard lock(mutex_);
  std::erase_if(states_, [](const auto& entry) { return entry.second.expired(); });
  auto& slot = states_[{pool, server.address.to_string()}];
  if (auto existing = slot.lock()) return existing;
  auto made = std::make_shared<ServerState>(pool, server);
  slot = made;
  return made;
}

}  // namespace pqedge::upstream
