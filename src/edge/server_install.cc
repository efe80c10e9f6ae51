// A configuration that was made ready becomes the one in force: on all workers, or on none.
#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <vector>

#include "base/log.h"
#include "crypto/keylog.h"
#include "edge/server.h"

namespace pqedge::edge {
namespace {

// How long new names of servers are waited for, at a start and at a reload.
constexpr Nanos kFirstAnswers = 2 * kSecond;

// What a worker says while all of them wait for each other.
struct Vote {
  std::promise<Result<void>> can;
  std::promise<void> done;
};

}  // namespace

Result<void> Server::install(std::shared_ptr<const Snapshot> snapshot,
                             std::vector<ListenerPlan> plans) {
  std::shared_ptr<const crypto::KeyLog> keylog;
  if (const DebugSettings& debug = snapshot->settings.debug; !debug.keylog_file.empty()) {
    auto opened = crypto::KeyLog::open(debug.client, debug.keylog_file);
    if (!opened) return std::unexpected(opened.error());
    keylog = std::move(*opened);
    log::warning("server", "TLS secrets of {} are written to {}", debug.client, debug.keylog_file);
  }
  auto ticket_keys = TicketKeyKeeper::load(snapshot->settings.tls.ticket_keys);
  if (!ticket_keys) return std::unexpected(ticket_keys.error());
  // All contexts before the first worker is told: a failure must change nothing.
  Contexts contexts(shared_.workers.size());
  if (snapshot->certificates) {
    const auto store = store_of(*snapshot);
    for (auto& c : contexts) {
      auto made = crypto::ServerContexts::create(snapshot->settings.tls, store, shared_.tickets,
                                                 keylog, snapshot->policies, services_);
      if (!made) return std::unexpected(made.error());
      c = std::move(*made);
    }
  }
  if (auto ok = PoolKeeper::check(snapshot->settings); !ok) return ok;
  if (auto ok = stapling_->configure(snapshot->settings.tls); !ok) return ok;
  adopt(snapshot, std::move(*ticket_keys), kFirstAnswers);
  if (auto ok = tell_workers(snapshot, contexts, std::move(plans)); !ok) {
    go_back();
    return ok;
  }
  bound_.clear();
  for (const Binding& b : bindings(snapshot->settings)) {
    bound_[b.address.to_string()] = {b.listener->binds_tcp(), udp_of(*b.listener)};
  }
  restart_only_->note(snapshot->settings);
  retire(std::exchange(current_, std::move(snapshot)));
  return {};
}

// What the process has but once.
void Server::adopt(const std::shared_ptr<const Snapshot>& snapshot,
                   TicketKeyKeeper::Loaded ticket_keys, Nanos patience) {
  pools_->adopt(snapshot, patience);
  shared_.tickets->set_lifetime(snapshot->settings.tls.ticket_lifetime);
  ticket_keys_->apply(std::move(ticket_keys), snapshot->settings.tls.ticket_lifetime);
  shared_.max_connections.store(snapshot->settings.max_connections, std::memory_order_relaxed);
  adopt_certificates(*snapshot);
}

// To the configuration that the workers still have.
void Server::go_back() {
  if (current_ == nullptr) return;  // a start: the process ends
  auto ticket_keys = TicketKeyKeeper::load(current_->settings.tls.ticket_keys);
  if (!ticket_keys) {
    log::error("server", "the ticket keys of before cannot be read again: {}",
               ticket_keys.error().message);
    return;
  }
  if (auto ok = stapling_->configure(current_->settings.tls); !ok) {
    log::error("server", "stapling does not follow: {}", ok.error().message);
  }
  adopt(current_, std::move(*ticket_keys), 0);
}

// Each makes what it needs and waits for the others; when one cannot, for want of memory or of what
// the kernel has, none changes anything. They wait for as long as the turns take that run just
// then.
Result<void> Server::tell_workers(const std::shared_ptr<const Snapshot>& snapshot,
                                  const Contexts& contexts, std::vector<ListenerPlan> plans) {
  const size_t count = shared_.workers.size();
  const auto votes = std::make_shared<std::vector<Vote>>(count);
  const auto longest = std::make_shared<std::atomic<Nanos>>(0);  // what requests may have waited
  std::promise<bool> verdict;
  const std::shared_future<bool> agreed = verdict.get_future().share();
  for (size_t i = 0; i < count; ++i) {
    Worker& worker = *shared_.workers[i];
    worker.loop().post([&worker, &vote = (*votes)[i], votes, longest, agreed, snapshot,
                        c = contexts[i],
                        plan = std::make_shared<ListenerPlan>(std::move(plans[i]))] {
      const Nanos begun = monotonic_now();
      worker.apply(snapshot, c, std::move(*plan), [&](Result<void> can) {
        vote.can.set_value(std::move(can));
        return agreed.get();
      });
      const Nanos took = monotonic_now() - begun;
      for (Nanos most = longest->load();
           took > most && !longest->compare_exchange_weak(most, took);) {
      }
      vote.done.set_value();
    });
  }
  Result<void> all;
  for (Vote& vote : *votes) {
    if (auto can = vote.can.get_future().get(); !can && all) all = std::move(can);
  }
  verdict.set_value(all.has_value());
  for (Vote& vote : *votes) vote.done.get_future().wait();
  log::debug("server", "a worker took at most {} us to take the configuration",
             longest->load() / kMicrosecond);
  return all;
}

}  // namespace pqedge::edge
