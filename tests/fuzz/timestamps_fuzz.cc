// Readers of Certificate Transparency: lists of timestamps, answers of logs, lists of logs.
#include <cstdlib>

#include "crypto/sct.h"

namespace {

using pqedge::Bytes;

void require(bool condition) {
  if (!condition) std::abort();
}

// Every view lies within the input, and the list made of the timestamps is the input again.
void read_list(Bytes input) {
  const auto list = pqedge::crypto::parse_timestamps(input);
  if (!list) {
    require(!list.error().message.empty());
    return;
  }
  require(!list->empty());
  std::vector<std::string> all;
  for (const pqedge::crypto::SignedTimestamp& t : *list) {
    for (const Bytes part : {t.whole, t.log_id, t.extensions, t.signature}) {
      if (part.empty()) continue;
      require(part.data() >= input.data() &&
              part.data() + part.size() <= input.data() + input.size());
    }
    all.emplace_back(pqedge::as_text(t.whole));
  }
  require(pqedge::crypto::make_timestamp_list(all) == pqedge::as_text(input));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Bytes input(data, size);
  read_list(input);
  if (const auto timestamp = pqedge::crypto::read_add_chain_answer(pqedge::as_text(input))) {
    const std::string list = pqedge::crypto::make_timestamp_list({*timestamp});
    require(pqedge::crypto::parse_timestamps(pqedge::as_bytes(list)).has_value());
  }
  if (const auto logs = pqedge::crypto::LogList::parse(pqedge::as_text(input))) {
    require(!(*logs)->all().empty());
    for (const auto& log : (*logs)->all()) require(log.id.size() == 32 && log.key != nullptr);
  }
  return 0;
}
