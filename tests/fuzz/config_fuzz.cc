// The configuration reader: any bytes give a configuration or problems, one a line.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "config/load.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view toml(reinterpret_cast<const char*>(data), size);
  const auto c =
      pqedge::config::parse(toml, "fuzz.toml", "/nonexistent", pqedge::config::Checks::text);
  if (c) return 0;
  // Every line is a problem of this file, with no control byte in it.
  size_t lines = 0;
  std::string_view rest = c.error().message;
  while (true) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    if (!line.starts_with("fuzz.toml:") || ++lines > 21) std::abort();
    for (const char b : line) {
      if (static_cast<uint8_t>(b) < 0x20 || b == 0x7f) std::abort();
    }
    if (line.size() == rest.size()) return 0;
    rest.remove_prefix(line.size() + 1);
  }
}
