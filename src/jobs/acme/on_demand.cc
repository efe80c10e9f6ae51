#include "jobs/acme/on_demand.h"

#include <algorithm>

#include "jobs/acme/names.h"

namespace pqedge::acme {
namespace {

constexpr size_t kMaxRefusals = 10'000;
constexpr size_t kMaxPending = 256;   // names
constexpr size_t kMaxWaiting = 4096;  // handshakes
constexpr size_t kMaxWaitingForOne = 256;

}  // namespace

OnDemandGate::OnDemandGate(OnDemandSettings settings)
    : settings_(std::move(settings)), tokens_(settings_.asks_per_minute) {}

// A bucket of one minute's worth.
bool OnDemandGate::take_token(Nanos now) {
  const auto most = static_cast<double>(settings_.asks_per_minute);
  if (filled_at_ != 0 && now > filled_at_) {
    tokens_ += static_cast<double>(now - filled_at_) / static_cast<double>(60 * kSecond) * most;
  }
  filled_at_ = now;
  tokens_ = std::min(tokens_, most);
  if (tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

OnDemandGate::Verdict OnDemandGate::request(std::string_view host, Wake wake, Nanos now) {
  if (!is_issuable_host(host, 2)) return Verdict::bad_name;
  const std::lock_guard lock(mutex_);
  if (const auto it = refused_.find(host); it != refused_.end()) {
    if (now < it->second->until) return Verdict::denied;
    const auto old = it->second;
    refused_.erase(it);
    refusals_.erase(old);
  }
  if (waiting_ >= kMaxWaiting) return Verdict::full;
  const std::string name(host);
  const auto entry = pending_.find(name);
  const bool known = entry != pending_.end();
  if (!known) {
    if (names_ + pending_.size() >= settings_.max_names || pending_.size() >= kMaxPending) {
      return Verdict::full;
    }
    if (!take_token(now)) return Verdict::limited;
  } else if (entry->second.size() >= kMaxWaitingForOne) {
    return Verdict::full;
  }
  pending_[name].push_back({std::move(wake), now + settings_.wait});
  ++waiting_;
  if (known) return Verdict::waits;
  questions_.push_back(name);
  return Verdict::ask;
}

std::string OnDemandGate::next_question() {
  const std::lock_guard lock(mutex_);
  if (questions_.empty()) return {};
  std::string host = std::move(questions_.front());
  questions_.pop_front();
  return host;
}

std::vector<OnDemandGate::Wake> OnDemandGate::take_waiters(const std::string& host) {
  std::vector<Wake> out;
  const auto it = pending_.find(host);
  if (it == pending_.end()) return out;
  for (Waiter& w : it->second) out.push_back(std::move(w.wake));
  waiting_ -= out.size();
  pending_.erase(it);
  return out;
}

void OnDemandGate::granted(const std::string& host) {
  std::vector<Wake> wakes;
  {
    const std::lock_guard lock(mutex_);
    wakes = take_waiters(host);
  }
  for (const Wake& wake : wakes) wake();
}

void OnDemandGate::refused(const std::string& host, Nanos until) {
  std::vector<Wake> wakes;
  {
    const std::lock_guard lock(mutex_);
    wakes = take_waiters(host);
    if (const auto it = refused_.find(host); it != refused_.end()) {
      const auto entry = it->second;
      refused_.erase(it);
      refusals_.erase(entry);
    }
    if (refusals_.size() >= kMaxRefusals) {
      refused_.erase(refusals_.front().host);
      refusals_.pop_front();
    }
    refusals_.push_back({host, until});
    refused_.emplace(refusals_.back().host, std::prev(refusals_.end()));
  }
  for (const Wake& wake : wakes) wake();
}

void OnDemandGate::count_names(size_t names) {
  const std::lock_guard lock(mutex_);
  names_ = names;
}

// The name stays pending: its answer is still to come, and not to be asked for again.
Nanos OnDemandGate::wake_late(Nanos now) {
  std::vector<Wake> wakes;
  Nanos next = kNever;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [host, waiters] : pending_) {
      std::erase_if(waiters, [&](Waiter& w) {
        if (w.until > now) {
          next = std::min(next, w.until);
          return false;
        }
        wakes.push_back(std::move(w.wake));
        --waiting_;
        return true;
      });
    }
  }
  for (const Wake& wake : wakes) wake();
  return next;
}

}  // namespace pqedge::acme
