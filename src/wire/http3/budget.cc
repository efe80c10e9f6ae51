#include "wire/http3/budget.h"

#include <array>

#include "base/counters.h"

namespace pqedge::http3 {
namespace {

struct Price {
  const char* name;
  uint64_t cost;
};
constexpr size_t kKinds = static_cast<size_t>(Nuisance::count_);
// A cancelled request has cost a backend something; a skipped frame costs little more than its
// bytes.
constexpr std::array<Price, kKinds> kPrices = {{
    {"request_cancelled", 10},
    {"bad_request", 20},
    {"empty_data", 4},
    {"unknown_frame", 4},
    {"control_frame", 4},
    {"unknown_stream", 10},
    {"priority_update", 4},
    {"qpack_blocked", 4},
    {"qpack_instructions", 4},
    {"ping", 4},
    {"stalled_stream", 200},
}};

using counters::Counter;

const std::array<Counter, kKinds>& seen() {
  static const std::array<Counter, kKinds> all = [] {
    std::array<Counter, kKinds> made;
    for (size_t i = 0; i < kKinds; ++i) {
      made[i] = Counter("pqedge_http3_nuisances_total",
                        "things an HTTP/3 client may do a little of, by kind",
                        {{"kind", kPrices[i].name}});
    }
    return made;
  }();
  return all;
}

const Counter kFloods{"pqedge_http3_floods_total",
                      "HTTP/3 connections ended with H3_EXCESSIVE_LOAD"};

}  // namespace

bool Budget::charge(Nuisance kind, Nanos now, uint64_t times) {
  const auto i = static_cast<size_t>(kind);
  seen()[i].add(times);
  if (tokens_.take(now, kPrices[i].cost * times)) return true;
  kFloods.add();
  return false;
}

}  // namespace pqedge::http3
