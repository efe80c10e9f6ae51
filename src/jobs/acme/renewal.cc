#include "jobs/acme/renewal.h"

#include <algorithm>
#include <random>

namespace pqedge::acme {
namespace {

constexpr double kJitterShare = 0.05;
constexpr double kLeastLeft = 0.1;
constexpr Nanos kLeastPoll = 60 * kSecond;
constexpr Nanos kUsualPoll = 6 * 3600 * kSecond;
constexpr Nanos kMostPoll = 86400 * kSecond;

}  // namespace

double renewal_by_share(int64_t not_before, int64_t not_after, uint32_t percent_left,
                        double random) {
  const auto lifetime = static_cast<double>(not_after - not_before);
  const double left = lifetime * percent_left / 100.0;
  return static_cast<double>(not_after) - left * (1 + kJitterShare * random);
}

double renewal_by_window(const RenewalInfo& info, int64_t not_before, int64_t not_after, double now,
                         double random) {
  const auto start = static_cast<double>(info.start);
  const auto end = static_cast<double>(info.end);
  const double chosen = start + (end - start) * random;
  const auto lifetime = static_cast<double>(not_after - not_before);
  // Whatever the CA says: not so late that a failure could not be made good.
  const double latest = static_cast<double>(not_after) - lifetime * kLeastLeft;
  if (chosen > now && latest > now) return std::min(chosen, latest);
  const double most = std::min(60.0, lifetime / 100);
  return now + most * random;
}

Nanos back_off(uint32_t failures, Nanos least, Nanos most, Nanos retry_after, double random) {
  Nanos delay = least;
  for (uint32_t i = 1; i < failures && delay < most; ++i) delay *= 2;
  delay = std::min(delay, most);
  const auto jittered = static_cast<Nanos>(static_cast<double>(delay) * (0.5 + random / 2));
  return std::max(jittered, retry_after);
}

Nanos next_poll(Nanos retry_after) {
  if (retry_after == 0) return kUsualPoll;
  return std::clamp(retry_after, kLeastPoll, kMostPoll);
}

double between_windows(int64_t not_before, int64_t not_after) {
  return std::min(3600.0, static_cast<double>(not_after - not_before) / 6);
}

double random_unit() {
  thread_local std::minstd_rand generator{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(generator);
}

}  // namespace pqedge::acme
