// How a process ends: it takes nothing new, lets what runs come to its end, and cuts the rest.
#include <unistd.h>

#include "base/log.h"
#include "edge/run_on.h"
#include "edge/server.h"

namespace pqedge::edge {
namespace {

constexpr Nanos kDrainLook = 20 * kMillisecond;

}  // namespace

void Server::drain(std::function<void()> done, Nanos timeout) {
  drained_ = std::move(done);
  if (draining_) return;
  draining_ = true;
  ready_.store(false, std::memory_order_release);
  const Settings& s = current_->settings;
  drain_deadline_ = monotonic_now() + timeout;
  acme_->finish();  // orders are the next process's
  for (auto& w : shared_.workers) {
    run_on(*w, [&w, linger = s.drain_linger] {
      w->drain(linger);
      return Result<void>{};
    }).value();
  }
  drain_timer_.arm(loop_, kDrainLook);
}

void Server::watch_drain() {
  const uint32_t left = shared_.connections.load(std::memory_order_relaxed);
  if (left == 0 && shared_.unsettled.load(std::memory_order_relaxed) == 0) {
    finish_drain();
    return;
  }
  if (monotonic_now() < drain_deadline_) {
    drain_timer_.arm(loop_, kDrainLook);
    return;
  }
  log::warning("server", "{} passed: {} connections are cut",
               handed_over_ ? "upgrade_drain_timeout" : "drain_timeout", left);
  for (auto& w : shared_.workers) {
    run_on(*w, [&w] {
      w->close_connections();
      return Result<void>{};
    }).value();
  }
  finish_drain();
}

void Server::finish_drain() {
  if (auto done = std::exchange(drained_, nullptr)) done();
}

void Server::stop_workers() {
  ready_.store(false, std::memory_order_release);
  if (running_) {
    for (auto& w : shared_.workers) w->loop().stop();
    for (auto& w : shared_.workers) w->join();
    running_ = false;
  }
  end_certificates();
  shared_.workers.clear();
  if (!owns_socket_files_) return;
  for (const auto& [address, bound] : bound_) {
    // The file of an inherited socket is the service manager's.
    if (auto a = net::Address::parse(address);
        a && a->is_unix() && inherited(*a, false) == nullptr) {
      unlink(reinterpret_cast<const sockaddr_un*>(a->data())->sun_path);
    }
  }
}

}  // namespace pqedge::edge
