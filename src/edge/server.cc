#include "edge/server.h"

#include <openssl/crypto.h>
#include <sched.h>

#include <algorithm>
#include <format>

#include "base/text.h"
#include "crypto/kernel_tls.h"

namespace pqedge::edge {
namespace {

constexpr uint32_t kMaxWorkers = 256;

uint32_t usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<uint32_t>(std::max(1, CPU_COUNT(&set)));
}

}  // namespace

Result<void> Server::check(Settings settings, bool ports) {
  if (ports) {
    for (const Binding& b : bindings(settings)) {
      for (const bool udp : {false, true}) {
        if (udp ? !b.listener->binds_udp() : !b.listener->binds_tcp()) continue;
        if (auto ok = check_free(b, udp); !ok && !held_by_pqedge(b.address)) return ok;
      }
    }
  }
  auto tickets = crypto::TicketKeyRing::create(settings.tls.ticket_lifetime);
  if (auto keys = TicketKeyKeeper::load(settings.tls.ticket_keys); !keys) {
    return std::unexpected(keys.error());
  }
  if (auto ok = PoolKeeper::check(settings); !ok) return ok;
  auto snapshot = Snapshot::build(std::move(settings), nullptr);
  if (!snapshot) return std::unexpected(snapshot.error());
  if (!(*snapshot)->certificates) return {};
  auto contexts =
      crypto::ServerContexts::create((*snapshot)->settings.tls, (*snapshot)->certificates,
                                     std::move(tickets), nullptr, (*snapshot)->policies);
  if (!contexts) return std::unexpected(contexts.error());
  return {};
}

Server::Server(net::Loop& main_loop, Options options)
    : loop_(main_loop),
      options_(std::move(options)),
      retire_timer_([](void* self) { static_cast<Server*>(self)->free_retired(); }, this),
      drain_timer_([](void* self) { static_cast<Server*>(self)->watch_drain(); }, this) {}

Server::~Server() {
  stop_workers();
  OPENSSL_cleanse(quic_secret_.data(), quic_secret_.size());
}

Result<std::unique_ptr<Server>> Server::start(net::Loop& main_loop, Options options) {
  std::unique_ptr<Server> s(new Server(main_loop, std::move(options)));
  if (auto ok = s->begin(); !ok) return std::unexpected(ok.error());
  return s;
}

Result<void> Server::begin() {
  auto settings = options_.loader();
  if (!settings) return std::unexpected(settings.error());
  uint32_t count =
      std::min(settings->workers != 0 ? settings->workers : usable_cpus(), kMaxWorkers);
  // Each has its sockets, with what waits in them.
  if (options_.before) count = options_.before->workers;
  owns_socket_files_ = !options_.before;
  restart_only_.emplace(*settings,
                        options_.before ? options_.before->workers_asked : settings->workers);
  if (auto ok = make_keys(*settings); !ok) return ok;
  ticket_keys_ = std::make_unique<TicketKeyKeeper>(loop_, shared_.tickets);
  begin_certificates(*settings);
  begin_pools();
  if (options_.before) pools_->go_on_with(std::move(options_.before->state.pools));
  auto log = record::AccessLog::open(settings->logs, count);
  if (!log) return std::unexpected(log.error());
  shared_.access_log = std::move(*log);

  auto snapshot =
      Snapshot::build(std::move(*settings), options_.pem.has_value() ? &*options_.pem : nullptr);
  if (!snapshot) return std::unexpected(snapshot.error());
  if (options_.before) go_on_with(**snapshot, options_.before->state.canaries);
  if (auto ok = acme_->configure((*snapshot)->settings.acme); !ok) return ok;

  for (uint32_t i = 0; i < count; ++i) {
    auto worker = Worker::create(shared_, static_cast<uint16_t>(i), count);
    if (!worker) return std::unexpected(worker.error());
    shared_.workers.push_back(std::move(*worker));
  }
  if (const std::string unused = unused_sockets((*snapshot)->settings); !unused.empty()) {
    return fail(
        "the service manager passed sockets that no listener takes: {}; give a [[listener]] "
        "that address (\"h3\" in its protocols for UDP), or take it out of the socket unit",
        unused);
  }
  // Sockets first: a port in use must stop the start before anything runs.
  auto plans = plan_listeners((*snapshot)->settings);
  if (!plans) return std::unexpected(plans.error());
  for (auto& w : shared_.workers) w->start();
  running_ = true;
  if (auto ok = install(std::move(*snapshot), std::move(*plans)); !ok) return ok;
  if (options_.before) {
    if (auto ok = follow_predecessor(); !ok) return ok;
  } else {
    acme_->begin();
  }
  ready_.store(true, std::memory_order_release);
  return {};
}

Result<std::shared_ptr<const Snapshot>> Server::load_next(std::vector<std::string>& pending) {
  auto settings = options_.loader();
  if (!settings) return std::unexpected(settings.error());
  pending = restart_only_->differing(*settings);
  settings->crypto = restart_only_->crypto();
  return Snapshot::build(std::move(*settings), options_.pem.has_value() ? &*options_.pem : nullptr,
                         current_.get());
}

Result<std::string> Server::reload() {
  if (draining_) return fail("the process is shutting down");
  std::vector<std::string> pending;
  auto snapshot = load_next(pending);
  if (!snapshot) return std::unexpected(snapshot.error());
  std::string notes;
  for (const std::string& note : pending) notes += "; " + note;
  auto plans = plan_listeners((*snapshot)->settings);
  if (!plans) return std::unexpected(plans.error());
  if (const std::string unused = unused_sockets((*snapshot)->settings); !unused.empty()) {
    notes += "; clients of these sockets of the service manager now wait in vain: " + unused;
  }
  if (auto ok = shared_.access_log->update((*snapshot)->settings.logs); !ok) {
    return std::unexpected(ok.error());
  }
  if (auto ok = install(std::move(*snapshot), std::move(*plans)); !ok) {
    [[maybe_unused]] const auto back = shared_.access_log->update(current_->settings.logs);
    return std::unexpected(ok.error());
  }
  log::set_level(current_->settings.logs.level);
  pending_restart_ = std::move(pending);
  if (auto ok = acme_->configure(current_->settings.acme); !ok) {
    log::error("acme", "{}", ok.error().message);
    notes += "; acme stays as it was: " + ok.error().message;
  }
  ++reloads_;
  return std::format("reloaded {}: {} routes, {} pools, {} listeners{}", current_->settings.source,
                     current_->settings.routes.size(), current_->settings.pools.size(),
                     current_->settings.listeners.size(), notes);
}

void Server::reopen_logs() { shared_.access_log->reopen(); }

void Server::check_workers(std::function<void()> alive) {
  auto left = std::make_shared<std::atomic<size_t>>(shared_.workers.size());
  auto then = std::make_shared<std::function<void()>>(std::move(alive));
  for (auto& w : shared_.workers) {
    w->loop().post([this, left, then] {
      if (left->fetch_sub(1) == 1) loop_.post([then] { (*then)(); });
    });
  }
}

std::string Server::status_json() const {
  std::string source;
  append_json_escaped(source, current_->settings.source);
  const crypto::KernelTls kernel_tls = crypto::kernel_tls();
  return std::format(
      "{{\"configuration\":\"{}\",\"workers\":{},\"client_connections\":{},\"reloads\":{},"
      "\"ready\":{},\"draining\":{},{},\"kernel_tls\":{{\"library\":{},\"kernel\":{},"
      "\"used\":false}},\"stapling\":{}}}",
      source, shared_.workers.size(), shared_.connections.load(std::memory_order_relaxed), reloads_,
      ready(), draining_, process_json(), kernel_tls.library, kernel_tls.kernel,
      stapling_ == nullptr ? "[]" : stapling_->status_json());
}

}  // namespace pqedge::edge
