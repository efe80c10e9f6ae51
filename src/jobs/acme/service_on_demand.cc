// Names that clients ask for: who asks, who is asked, and who waits too long.
#include <algorithm>
#include <array>
#include <chrono>

#include "base/counters.h"
#include "jobs/acme/ask.h"
#include "jobs/acme/service.h"
#include "jobs/acme/sleep.h"
#include "jobs/acme/storage.h"

namespace pqedge::acme {
namespace {

constexpr Nanos kAfterNoAnswer = 10 * kSecond;  // then the ask URL may be asked again

// By OnDemandGate::Verdict.
counters::Counter hellos(const char* verdict) {
  return counters::Counter("pqedge_acme_on_demand_total",
                           "Handshakes for a name without a certificate, by what became of them.",
                           {{"verdict", verdict}});
}
const std::array kHellos = {hellos("waits"),  hellos("waits"),   hellos("bad name"),
                            hellos("denied"), hellos("limited"), hellos("full")};

}  // namespace

std::shared_ptr<OnDemandGate> Service::gate() const {
  const std::lock_guard lock(gate_mutex_);
  return gate_;
}

void Service::count_names() const {
  size_t names = 0;
  {
    const std::lock_guard lock(mutex_);
    names = static_cast<size_t>(
        std::ranges::count_if(entries_, [](const auto& e) { return e->on_demand; }));
  }
  if (const auto g = gate()) g->count_names(names);
}

bool Service::request(std::string_view host, OnDemandGate::Wake wake) {
  if (!on_demand_.load(std::memory_order_relaxed)) return false;  // without a lock
  const auto g = gate();
  if (g == nullptr) return false;
  const auto verdict = g->request(host, std::move(wake), monotonic_now());
  kHellos[static_cast<size_t>(verdict)].add();
  using enum OnDemandGate::Verdict;
  if (verdict != waits && verdict != ask) return false;
  {
    const std::lock_guard lock(gate_mutex_);
    ++requests_;
  }
  asked_.notify_all();
  return true;
}

void Service::add_asked(const std::string& name) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = std::ranges::find_if(
        entries_, [&](const auto& e) { return e->on_demand && e->names.front() == name; });
    if (known != entries_.end()) {
      (*known)->due = 0;
    } else {
      auto e = std::make_shared<Entry>();
      e->id = id_of({name});
      e->names = {name};
      e->on_demand = true;
      entries_.push_back(std::move(e));
    }
  }
  count_names();
  changed_.notify_one();
}

void Service::answer() {
  while (!stop_.load(std::memory_order_relaxed)) {
    OnDemandSettings settings;
    std::shared_ptr<OnDemandGate> g;
    std::string name;
    {
      std::unique_lock lock(gate_mutex_);
      g = gate_;
      settings = gate_settings_;
      if (g != nullptr) name = g->next_question();
      if (name.empty()) {
        if (!stop_.load(std::memory_order_relaxed)) asked_.wait(lock);
        continue;
      }
    }
    switch (Asker(settings, stop_).ask(name)) {
      case Permission::allowed: add_asked(name); break;
      case Permission::denied: g->refused(name, monotonic_now() + settings.deny_for); break;
      case Permission::unknown: g->refused(name, monotonic_now() + kAfterNoAnswer); break;
    }
  }
}

void Service::keep_time() {
  std::shared_ptr<OnDemandGate> last;
  std::unique_lock lock(gate_mutex_);
  while (!stop_.load(std::memory_order_relaxed)) {
    const auto g = gate_;
    const uint64_t seen = requests_;
    lock.unlock();
    // Those of a gate that a reload took away have waited long enough.
    if (last != nullptr && last != g) last->wake_late(kNever - 1);
    last = g;
    const Nanos now = monotonic_now();
    const Nanos next = g == nullptr ? kNever : g->wake_late(now);
    lock.lock();
    if (stop_.load(std::memory_order_relaxed) || seen != requests_ || g != gate_) continue;
    asked_.wait_for(lock, sleep_until(next, now));
  }
}

}  // namespace pqedge::acme
