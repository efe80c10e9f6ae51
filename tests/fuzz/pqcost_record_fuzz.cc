// Records are passed around as files: any bytes give a record that is written and read back as the
// same, or one line that names the file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "measure/record/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using pqedge::measure::from_json;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto record = from_json(text, "fuzz.json");
  if (!record) {
    const std::string& line = record.error().message;
    if (!line.starts_with("fuzz.json:")) std::abort();
    for (const char b : line) {
      if (static_cast<uint8_t>(b) < 0x20 || b == 0x7f) std::abort();
    }
    return 0;
  }
  const std::string written = to_json(*record);
  const auto again = from_json(written, "again.json");
  if (!again || to_json(*again) != written) std::abort();
  return 0;
}
