#include "crypto/policy.h"

namespace pqedge::crypto {

Problems validate(const SigningSettings& settings) {
  constexpr uint32_t kMostThreads = 64;
  constexpr uint32_t kMostWaiting = 65536;
  Problems problems;
  check_count(problems, "signing.threads", settings.threads, 0, kMostThreads);
  check_count(problems, "signing.queue", settings.queue, 1, kMostWaiting);
  check_count(problems, "signing.share", settings.share, 1, kMostWaiting);
  check_duration(problems, "signing.deadline", settings.deadline, 10 * kMillisecond, 60 * kSecond);
  return problems;
}

}  // namespace pqedge::crypto
