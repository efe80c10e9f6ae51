// Cookie fields as clients write them: what is found lies in the field, begins a crumb of that
// name, and ties to a member only in the form that we write.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "upstream/affinity.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pqedge;
  Arena arena;
  http::Fields fields(arena);
  const std::string_view text = as_text(Bytes(data, size));
  fields.add(http::Name::cookie, text);
  const std::string_view value = upstream::cookie_value(fields, "srv");
  if (value.data() == nullptr) return 0;
  const size_t at = static_cast<size_t>(value.data() - text.data());
  if (at < 4 || at + value.size() > text.size() || text.substr(at - 4, 4) != "srv=") std::abort();
  if (value.find(';') != std::string_view::npos) std::abort();
  const uint64_t member = upstream::member_of_cookie(value, 1000);
  if (member == 0) return 0;
  // What was taken is read the same from what we would write.
  const std::string_view made = upstream::make_tie_cookie("srv", member, 0, 1000, true, arena);
  if (upstream::member_of_cookie(made.substr(4, 16), 1000) != member) std::abort();
  return 0;
}
