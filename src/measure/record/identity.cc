#include <sys/random.h>

#include <array>
#include <ctime>
#include <random>

#include "base/text.h"
#include "measure/record/json.h"

namespace pqedge::measure {

std::string new_record_id() {
  std::array<uint8_t, 16> bytes;
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    std::random_device device;
    for (uint8_t& b : bytes) b = static_cast<uint8_t>(device());
  }
  return to_hex(bytes);
}

std::string date_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

}  // namespace pqedge::measure
