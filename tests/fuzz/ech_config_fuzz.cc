// Key files of Encrypted Client Hello, and the ECHConfigLists in them.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "crypto/ech_config.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 100'000) return 0;
  const pqedge::Bytes bytes{data, size};
  const auto list = pqedge::crypto::parse_ech_config_list(bytes);
  if (list) {
    const std::string text = pqedge::crypto::ech_config_list(*list);
    const auto again = pqedge::crypto::parse_ech_config_list(pqedge::as_bytes(text));
    require(again && again->size() == list->size());
    for (size_t i = 0; i < list->size(); ++i) require((*again)[i].encoded == (*list)[i].encoded);
  }
  const auto file = pqedge::crypto::parse_ech_key_file(pqedge::as_text(bytes));
  require(file ? !file->configs.empty() : !file.error().message.empty());
  return 0;
}
