#include "jobs/acme/service.h"
#include "jobs/acme/sleep.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>

#include "jobs/acme/attendant.h"

namespace pqedge::acme {
namespace {

constexpr int kAttendants = 4;  // a CA that hangs with one order leaves room for others

std::shared_ptr<Entry> find(const std::vector<std::shared_ptr<Entry>>& entries,
                            const std::string& id, bool on_demand) {
  for (const auto& e : entries) {
    if (e->id == id && e->on_demand == on_demand) return e;
  }
  return nullptr;
}

// What of the settings makes a certificate another one.
bool same_source(const Settings& a, const Settings& b) {
  return a.directory == b.directory && a.storage == b.storage && a.key_type == b.key_type;
}

}  // namespace

// The entries of a configuration, without what is known of them.
std::vector<std::shared_ptr<Entry>> Service::wanted(const Settings& settings,
                                                    const Storage& storage) const {
  std::vector<std::shared_ptr<Entry>> out;
  for (const CertificateSettings& c : settings.certificates) {
    auto e = std::make_shared<Entry>();
    e->id = id_of(c.names);
    e->names = c.names;
    e->is_default = c.is_default;
    if (find(out, e->id, false) == nullptr) out.push_back(std::move(e));
  }
  if (settings.on_demand.ask.empty()) return out;
  for (std::string& id : storage.on_demand_ids(settings.on_demand.max_names)) {
    auto e = std::make_shared<Entry>();
    e->names = {id};
    e->id = std::move(id);
    e->on_demand = true;
    out.push_back(std::move(e));
  }
  return out;
}

Result<Service::Changes> Service::configure(std::shared_ptr<const Settings> settings) {
  Changes changes;
  std::vector<std::shared_ptr<Entry>> entries;
  std::vector<std::shared_ptr<Entry>> before;
  std::shared_ptr<const Settings> old;
  {
    const std::lock_guard lock(mutex_);
    before = entries_;
    old = settings_;
  }
  if (settings->on()) {
    const Storage storage(settings->storage, settings->directory);
    if (auto ok = storage.prepare(); !ok) return std::unexpected(ok.error());
    const bool keep = old != nullptr && same_source(*old, *settings);
    for (auto& e : wanted(*settings, storage)) {
      auto known = keep ? find(before, e->id, e->on_demand) : nullptr;
      if (known != nullptr && known->is_default == e->is_default && known->names == e->names) {
        entries.push_back(std::move(known));
        continue;
      }
      Stored stored;
      if (!load_stored(storage, *settings, *e, stored)) {
        if (e->on_demand) continue;  // a file of another kind of key, or damaged
        stored.id = e->id;
        stored.names = e->names;
        stored.is_default = e->is_default;
        stored.pem.clear();
      }
      changes.present.push_back(std::move(stored));
      entries.push_back(std::move(e));
    }
  }
  {
    const std::lock_guard lock(mutex_);
    for (const auto& e : entries_) {
      if (std::ranges::contains(entries, e)) continue;
      e->removed = true;
      if (!e->busy) forget(*e);
      const bool stays =
          std::ranges::any_of(entries, [&](const auto& other) { return other->id == e->id; });
      if (!stays) changes.gone.push_back(e->id);
    }
    entries_ = std::move(entries);
    settings_ = settings;
  }
  {
    const std::lock_guard lock(gate_mutex_);
    if (!settings->on() || settings->on_demand.ask.empty()) {
      gate_.reset();
    } else if (gate_ == nullptr || !(gate_settings_ == settings->on_demand)) {
      gate_settings_ = settings->on_demand;
      gate_ = std::make_shared<OnDemandGate>(gate_settings_);
    }
    on_demand_.store(gate_ != nullptr, std::memory_order_relaxed);
  }
  count_names();
  if (running_ && settings->on()) start_threads();
  changed_.notify_all();
  asked_.notify_all();
  return changes;
}

void Service::begin() {
  running_ = true;
  if (settings_ != nullptr && settings_->on()) start_threads();
}

void Service::start_threads() {
  if (!threads_.empty()) return;
  const auto start = [this](const char* name, void (Service::*run)()) {
    threads_.emplace_back([this, name, run] {
      pthread_setname_np(pthread_self(), name);
      (this->*run)();
    });
  };
  for (int i = 0; i < kAttendants; ++i) start("acme", &Service::attend);
  start("acme/ask", &Service::answer);
  start("acme/time", &Service::keep_time);
}

void Service::finish() {
  {
    const std::scoped_lock lock(mutex_, gate_mutex_);
    stop_.store(true, std::memory_order_relaxed);
  }
  changed_.notify_all();
  asked_.notify_all();
}

void Service::stop() {
  finish();
  for (std::thread& t : threads_) t.join();
  threads_.clear();
}

// ---- orders and renewals ---------------------------------------------------------------------

std::shared_ptr<Entry> Service::take_due(Nanos now, Nanos& next) const {
  std::shared_ptr<Entry> first;
  for (const auto& e : entries_) {
    if (!e->busy && (first == nullptr || e->due < first->due)) first = e;
  }
  next = first == nullptr ? kNever : first->due;
  return next <= now ? first : nullptr;
}

void Service::attend() {
  std::unique_ptr<Attendant> attendant;
  std::unique_lock lock(mutex_);
  while (!stop_.load(std::memory_order_relaxed)) {
    Nanos next = 0;
    const Nanos now = monotonic_now();
    const auto entry = take_due(now, next);
    if (entry == nullptr) {
      changed_.wait_for(lock, sleep_until(next, now));
      continue;
    }
    entry->busy = true;
    if (attendant == nullptr || attendant->settings() != settings_) {
      attendant = std::make_unique<Attendant>(settings_, host_, stop_);
    }
    lock.unlock();
    const Nanos again = attendant->attend(*entry);
    settle(entry, again);
    lock.lock();
  }
}

// Who waits for a name is told when its first attempt is over.
void Service::settle(const std::shared_ptr<Entry>& entry, Nanos next) {
  const bool had = entry->validity.has_value();
  bool orphan = false;
  {
    const std::lock_guard lock(mutex_);
    entry->busy = false;
    entry->due = next;
    if (entry->removed) {
      forget(*entry);
      // Put into use after it was taken out of the configuration, and by no other.
      orphan = std::ranges::none_of(entries_, [&](const auto& e) { return e->id == entry->id; });
    }
    if (next == kNever) std::erase(entries_, entry);
  }
  changed_.notify_one();
  if (orphan && had) host_.withdraw(entry->id);
  if (!entry->on_demand) return;
  count_names();
  if (const auto g = gate()) {
    if (next == kNever) {
      g->refused(entry->names.front(), monotonic_now() + g->settings().deny_for);
    } else if (had) {
      g->granted(entry->names.front());
    }
  }
}

}  // namespace pqedge::acme
