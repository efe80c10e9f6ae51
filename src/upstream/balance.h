// The algorithms that choose a server, apart from connections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "upstream/choice.h"
#include "upstream/member.h"
#include "upstream/server_state.h"
#include "upstream/settings.h"

namespace pqedge::upstream {

// One worker's choosing among the members of one pool. What it compares (requests in flight, times
// to the first byte, standing) is the process's; turns and chance are its own, so that shares hold
// over all workers when they hold for each.
//
// A choice: begin() finds the candidates, next() names them, the best first.
class Balancer {
 public:
  static constexpr size_t kNone = SIZE_MAX;

  // `seed`: another for each worker, so that they do not all begin with the same server.
  Balancer(const PoolSettings& settings, uint64_t seed);

  void set_members(const Members& members);

  enum class Found : uint8_t {
    some,  // next() names them
    full,  // servers may take requests, but all of them are at their maximum
    none   // no server may take any
  };
  // The candidates are those in the best class that there is, by this order: in good standing
  // before doubtful, all that before those to avoid; and in each the smallest priority.
  Found begin(const Choice& choice, Nanos now);
  // The same from the next class on: none of the last one would take it.
  Found begin_next(const Choice& choice);
  // An index into the members, or kNone when all were named.
  size_t next();

  bool is_full(size_t at) const;
  // Of the member with that id, or kNone.
  size_t find(uint64_t id) const;

 private:
  struct Target {
    ServerState* state;
    uint64_t id;
    uint32_t weight;
    uint32_t priority;
    int64_t turn = 0;  // of the smooth weighted turns
  };
  struct Candidate {
    uint32_t at;      // in targets_
    uint32_t weight;  // times its share of it
    uint64_t load;    // what the algorithm compares
  };

  Found gather(const Choice& choice, uint64_t least_class);
  size_t pick();
  size_t pick_in_turn(bool least_only);
  size_t pick_least();
  size_t pick_random_two();
  size_t pick_by_weight();
  size_t pick_hashed();
  void measure_load();
  uint64_t random();

  const Balance algorithm_;
  const uint32_t max_requests_;
  const Nanos slow_start_;
  uint64_t random_;
  std::vector<Target> targets_;
  std::vector<Candidate> candidates_;  // of the choice that is under way
  uint64_t class_ = 0;                 // of the candidates
  uint64_t key_ = 0;
  bool keyed_ = false;
  uint32_t named_ = 0;
  Nanos now_ = 0;
};

}  // namespace pqedge::upstream
