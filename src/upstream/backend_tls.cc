#include "upstream/backend_tls.h"

#include "base/log.h"
#include "upstream/backend.h"

namespace pqedge::upstream {

void TlsCounters::count(const ServerState& server, const crypto::BackendTlsFacts& facts) {
  const auto [it, added] = met_.try_emplace({facts.version, facts.group});
  if (added) {
    it->second = counters::Counter(
        "pqedge_backend_tls_handshakes_total", "TLS handshakes with backends that completed.",
        {{"group", facts.group.empty() ? "none" : std::string(facts.group)},
         {"pool", server.pool},
         {"server", server.name},
         {"version", std::string(facts.version)}});
  }
  it->second.add();
  if (facts.resumed) server.count.tls_resumptions.add();
  if (facts.hello_retry) server.count.tls_hello_retries.add();
}

void note_tls_failure(ServerState& server, crypto::BackendFault fault, std::string_view why,
                      Nanos now) {
  const counters::Counter failures("pqedge_backend_tls_failures_total",
                                   "TLS handshakes with backends that failed.",
                                   {{"pool", server.pool},
                                    {"reason", std::string(crypto::label(fault))},
                                    {"server", server.name}});
  failures.add();
  std::atomic<Nanos>& warned = server.tls_warned[static_cast<size_t>(fault)];
  Nanos last = warned.load(std::memory_order_relaxed);
  if (last != 0 && now - last < kSecond) return;
  if (!warned.compare_exchange_strong(last, now, std::memory_order_relaxed)) return;
  log::warning("backend", "pool '{}', server {}: TLS: {}", server.pool, server.name, why);
}

std::string proxy_text(uint8_t version, const Requester& requester) {
  const proxy_protocol::Header header = requester.proxy_header();
  return version == 1 ? proxy_protocol::write_version1(header)
                      : proxy_protocol::write_version2(header);
}

}  // namespace pqedge::upstream
