// Lines of the access log: whatever clients and backends put into the texts, a record is one line
// of JSON in UTF-8, and says how long a text was that it cuts.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "record/access_line.h"

namespace {

using namespace pqedge;

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 32 * 1024) return 0;
  std::string_view rest = as_text(Bytes(data, size));
  // Texts are parted by a byte that stands in no UTF-8.
  const auto next = [&rest] {
    const std::string_view text = rest.substr(0, rest.find('\xff'));
    rest.remove_prefix(std::min(rest.size(), text.size() + 1));
    return text;
  };
  record::AccessRecord r;
  r.time = size * 1'000'000'007;
  r.status = static_cast<uint16_t>(size % 1000);
  for (std::string_view* text :
       {&r.path, &r.host, &r.method, &r.user_agent, &r.reason, &r.sni, &r.outer_sni,
        &r.client_subject, &r.request_id, &r.client, &r.backend, &r.route}) {
    *text = next();
  }
  std::vector<uint8_t> packed(record::packed_size(r));
  record::pack(r, packed.data());
  std::string line;
  record::append_access_line(line, packed);
  require(line.ends_with('\n') && line.find('\n') == line.size() - 1);
  for (const char c : line) require(static_cast<uint8_t>(c) >= 0x20 || c == '\n');
  const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
  require(json.is_object());
  return 0;
}
