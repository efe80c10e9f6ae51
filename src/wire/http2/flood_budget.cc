#include "wire/http2/flood_budget.h"

#include <algorithm>
#include <array>

namespace pqedge::http2 {
namespace {

struct Price {
  std::string_view name;
  int32_t points;
};

constexpr int32_t kFrame = FloodBudget::kFrame;

// In the order of Charge. A frame that makes us do more than look at it costs more.
constexpr std::array<Price, static_cast<size_t>(Charge::count_)> kPrices = {{
    {"empty_data", kFrame},
    {"tiny_data", FloodBudget::kTinyData},
    {"headers", kFrame},
    {"continuation", kFrame},
    {"priority", kFrame},
    {"reset", kFrame},
    {"provoked_reset", 4 * kFrame},
    {"settings", 4 * kFrame},
    {"ping", kFrame},
    {"window_update", kFrame},
    {"unknown", kFrame},
    {"oversized_head", 16 * kFrame},
}};

}  // namespace

std::string_view charge_name(Charge charge) { return kPrices[static_cast<size_t>(charge)].name; }

bool FloodBudget::spend(Charge charge, Nanos now) {
  points_ -= kPrices[static_cast<size_t>(charge)].points;
  return points_ >= 0 || refill(now);
}

// Only when the bucket has run dry: the clock is not looked at for a well-behaved peer.
bool FloodBudget::refill(Nanos now) {
  const Nanos elapsed = std::min(now - refilled_at_, Nanos{60} * kSecond);
  refilled_at_ = now;
  const auto gained = static_cast<int64_t>(elapsed * kPerSecond / kSecond);
  points_ = static_cast<int32_t>(std::min<int64_t>(points_ + gained, kCapacity));
  return points_ >= 0;
}

}  // namespace pqedge::http2
