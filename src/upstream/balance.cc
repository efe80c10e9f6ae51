#include "upstream/balance.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "upstream/hash.h"
#include "upstream/slow_start.h"

namespace pqedge::upstream {
namespace {

// Whether a is less loaded for its weight than b.
bool lighter(uint64_t load_a, uint32_t weight_a, uint64_t load_b, uint32_t weight_b) {
  return load_a * weight_b < load_b * weight_a;
}

// A time of which its three upper bits are kept, so that equally fast servers are equal: noise is
// not to decide, nor what lies below half a millisecond.
uint64_t rough(uint32_t micros) {
  constexpr uint32_t kNoise = 512;
  const uint32_t t = std::min(micros, (1u << 27) - 1 - kNoise) + kNoise;
  const int dropped = std::bit_width(t) - 3;
  return t >> dropped << dropped;
}

}  // namespace

Balancer::Balancer(const PoolSettings& settings, uint64_t seed)
    : algorithm_(settings.balance),
      max_requests_(settings.max_requests),
      slow_start_(settings.slow_start),
      random_(mix(seed) | 1) {}

void Balancer::set_members(const Members& members) {
  targets_.clear();
  for (const Member& m : members) {
    targets_.push_back({m.state.get(), m.id, m.settings.weight, m.settings.priority});
  }
  candidates_.clear();
  candidates_.reserve(targets_.size());
  // A phase of its own for each worker: with few requests a worker the first in line would else get
  // more than its share.
  for (const Target& t : targets_) {
    if (t.weight == 0) continue;
    candidates_.push_back({static_cast<uint32_t>(&t - targets_.data()), t.weight, 0});
  }
  if (candidates_.empty()) return;
  for (uint64_t i = random() % std::min<size_t>(candidates_.size(), 64); i > 0; --i) {
    pick_in_turn(false);
  }
}

Balancer::Found Balancer::begin(const Choice& choice, Nanos now) {
  key_ = choice.key;
  keyed_ = choice.keyed;
  now_ = now;
  return gather(choice, 0);
}

Balancer::Found Balancer::begin_next(const Choice& choice) { return gather(choice, class_ + 1); }

Balancer::Found Balancer::gather(const Choice& choice, uint64_t least_class) {
  candidates_.clear();
  named_ = 0;
  class_ = UINT64_MAX;
  const bool avoids = choice.avoids_any();
  bool full = false;
  for (uint32_t i = 0; i < targets_.size(); ++i) {
    const Target& t = targets_[i];
    if (t.weight == 0) continue;
    const Standing standing = t.state->standing(now_);
    if (standing.use == Standing::Use::no || standing.draining) continue;
    const bool doubtful = t.state->passed_over_until.load(std::memory_order_relaxed) > now_;
    const uint64_t rank = (avoids && choice.avoids(t.state) ? 2 : 0) + (doubtful ? 1 : 0);
    const uint64_t its_class = rank << 32 | t.priority;
    if (its_class > class_ || its_class < least_class) continue;
    if (its_class < class_) {
      class_ = its_class;
      candidates_.clear();
      full = false;
    }
    if (is_full(i)) {
      full = true;
      continue;
    }
    const uint32_t share = slow_start_share(standing.since, now_, slow_start_);
    candidates_.push_back({i, t.weight * share, 0});
  }
  if (!candidates_.empty()) return Found::some;
  return full ? Found::full : Found::none;
}

size_t Balancer::next() {
  if (candidates_.empty()) return kNone;
  // Where one after the other had no room after all, any order does.
  const size_t chosen = named_++ < 2 ? pick() : candidates_.size() - 1;
  const size_t at = candidates_[chosen].at;
  candidates_[chosen] = candidates_.back();
  candidates_.pop_back();
  return at;
}

size_t Balancer::pick() {
  if (candidates_.size() == 1) return 0;
  switch (algorithm_) {
    case Balance::hash: return keyed_ ? pick_hashed() : pick_in_turn(false);
    case Balance::round_robin: return pick_in_turn(false);
    case Balance::random_two: return pick_random_two();
    case Balance::least_connections:
    case Balance::least_time: break;
  }
  return pick_least();
}

// The smooth weighted turns of nginx: each gains its weight, the richest is chosen and pays for
// all. `least_only`: only those whose load is marked 0 take part.
size_t Balancer::pick_in_turn(bool least_only) {
  int64_t total = 0;
  size_t best = kNone;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    const Candidate& c = candidates_[i];
    if (least_only && c.load != 0) continue;
    Target& t = targets_[c.at];
    t.turn += c.weight;
    total += c.weight;
    if (best == kNone || t.turn > targets_[candidates_[best].at].turn) best = i;
  }
  targets_[candidates_[best].at].turn -= total;
  return best;
}

void Balancer::measure_load() {
  const bool timed = algorithm_ == Balance::least_time;
  uint32_t fastest = UINT32_MAX;
  for (Candidate& c : candidates_) {
    const ServerState& s = *targets_[c.at].state;
    c.load = s.active.load(std::memory_order_relaxed);
    if (!timed) continue;
    const uint32_t average = s.latency.average(now_);
    if (average != 0) fastest = std::min(fastest, average);
  }
  if (!timed) return;
  // Who was never measured counts as the fastest, no faster: it gets no flood before its first
  // answer.
  for (Candidate& c : candidates_) {
    const uint32_t average = targets_[c.at].state->latency.average(now_);
    const uint32_t micros = average != 0 ? average : (fastest == UINT32_MAX ? 0 : fastest);
    c.load = std::min<uint64_t>(c.load + 1, UINT16_MAX) * rough(micros);
  }
}

size_t Balancer::pick_least() {
  measure_load();
  const Candidate* least = &candidates_[0];
  for (const Candidate& c : candidates_) {
    if (lighter(c.load, c.weight, least->load, least->weight)) least = &c;
  }
  const Candidate best = *least;
  for (Candidate& c : candidates_) {
    c.load = lighter(best.load, best.weight, c.load, c.weight) ? 1 : 0;
  }
  return pick_in_turn(true);
}

size_t Balancer::pick_by_weight() {
  uint64_t total = 0;
  for (const Candidate& c : candidates_) total += c.weight;
  uint64_t at = random() % total;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    if (at < candidates_[i].weight) return i;
    at -= candidates_[i].weight;
  }
  return 0;
}

size_t Balancer::pick_random_two() {
  const size_t a = pick_by_weight();
  const size_t b = pick_by_weight();
  if (a == b) return a;
  const Candidate& ca = candidates_[a];
  const Candidate& cb = candidates_[b];
  const uint64_t load_a = targets_[ca.at].state->active.load(std::memory_order_relaxed);
  const uint64_t load_b = targets_[cb.at].state->active.load(std::memory_order_relaxed);
  return lighter(load_b, cb.weight, load_a, ca.weight) ? b : a;
}

// Rendezvous hashing (Thaler and Ravishankar, 1998), weighted by the logarithmic method: each
// server draws a number for the key, the best one has it. A server that goes leaves its keys to the
// others in proportion to their weights, and no other key moves.
size_t Balancer::pick_hashed() {
  size_t best = 0;
  double least = INFINITY;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    const Target& t = targets_[candidates_[i].at];
    const uint64_t drawn = mix(key_ ^ mix(t.id));
    // In (0, 1), from the upper 52 bits.
    const double uniform = (static_cast<double>(drawn >> 12) + 0.5) * 0x1p-52;
    const double score = -std::log(uniform) / t.weight;
    if (score < least) {
      least = score;
      best = i;
    }
  }
  return best;
}

bool Balancer::is_full(size_t at) const {
  return max_requests_ != 0 &&
         targets_[at].state->active.load(std::memory_order_relaxed) >= max_requests_;
}

size_t Balancer::find(uint64_t id) const {
  for (size_t i = 0; i < targets_.size(); ++i) {
    if (targets_[i].id == id) return i;
  }
  return kNone;
}

// xorshift64* (Vigna, 2016).
uint64_t Balancer::random() {
  random_ ^= random_ >> 12;
  random_ ^= random_ << 25;
  random_ ^= random_ >> 27;
  return random_ * 0x2545f4914f6cdd1d;
}

}  // namespace pqedge::upstream
