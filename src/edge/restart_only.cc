#include "edge/restart_only.h"

#include <format>

#include "edge/bindings.h"

namespace pqedge::edge {

RestartOnly::RestartOnly(const Settings& first, uint32_t workers)
    : workers_(workers),
      crypto_(first.crypto),
      signing_threads_(first.signing.threads),
      log_queue_(first.logs.queue),
      receive_buffer_(first.quic.receive_buffer),
      send_buffer_(first.quic.send_buffer) {}

void RestartOnly::note(const Settings& settings) {
  // Its memory is taken once, with the first configuration that has early data.
  const crypto::EarlyDataSettings& early = settings.tls.early_data;
  if (early.on && replay_entries_ == 0) replay_entries_ = early.replay_entries;
  std::map<std::string, bool> bound;
  for (const Binding& b : bindings(settings)) {
    const std::string address = b.address.to_string();
    const auto known = v6_only_.find(address);
    bound[address] = known != v6_only_.end() ? known->second : b.listener->v6_only;
  }
  v6_only_ = std::move(bound);
}

std::vector<std::string> RestartOnly::differing(const Settings& next) const {
  std::vector<std::string> notes;
  if (next.workers != workers_) notes.emplace_back("server.workers changes with a restart");
  if (next.crypto != crypto_) {
    notes.emplace_back("the section crypto changes with a restart or an upgrade");
  }
  if (replay_entries_ != 0 && next.tls.early_data.on &&
      next.tls.early_data.replay_entries != replay_entries_) {
    notes.emplace_back("tls.early_data_tickets changes with a restart or an upgrade");
  }
  if (next.signing.threads != signing_threads_) {
    notes.emplace_back("signing.threads changes with a restart or an upgrade");
  }
  if (next.logs.queue != log_queue_) {
    notes.emplace_back("logging.queue changes with a restart or an upgrade");
  }
  if (next.quic.receive_buffer != receive_buffer_ || next.quic.send_buffer != send_buffer_) {
    notes.emplace_back(
        "quic.receive_buffer and quic.send_buffer change with a restart or an upgrade, and for a "
        "new address at once");
  }
  for (const Binding& b : bindings(next)) {
    const auto known = v6_only_.find(b.address.to_string());
    if (b.address.family() != AF_INET6 || known == v6_only_.end() ||
        known->second == b.listener->v6_only) {
      continue;
    }
    notes.push_back(std::format("listener '{}': v6_only of {} changes with a restart",
                                b.listener->name, b.address.to_string()));
  }
  return notes;
}

}  // namespace pqedge::edge
