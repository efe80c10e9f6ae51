// TLS records up to the end of a ClientHello: however they come in, the same message or the same
// fault; and a message that is what the records hold, by a reader of the plainest kind.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "crypto/hello_records.h"

namespace {

using pqedge::Bytes;
using pqedge::crypto::HelloRecords;
using State = HelloRecords::State;

void require(bool holds) {
  if (!holds) std::abort();
}

bool is_final(State s) { return s != State::more; }

struct Outcome {
  State state;
  std::string message;
};

Outcome run(Bytes all, size_t piece) {
  HelloRecords records;
  State state = State::more;
  for (size_t have = 0; have < all.size() && !is_final(state);) {
    have = piece > all.size() - have ? all.size() : have + piece;
    state = records.take(all.first(have));
    require(state == records.state());
  }
  return {state, state == State::whole ? std::string(pqedge::as_text(records.message())) : ""};
}

// The bodies of the records one after the other.
std::string bodies(Bytes all) {
  std::string out;
  while (all.size() >= 5) {
    const size_t n = std::min<size_t>(pqedge::load_be16(all.data() + 3), all.size() - 5);
    out += pqedge::as_text(all.subspan(5, n));
    all = all.subspan(5 + n);
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || size >= HelloRecords::kMaxBytes) return 0;
  const Bytes all(data, size);
  const Outcome whole = run(all, size);
  for (const size_t piece : {size_t{7}, size_t{1}}) {
    if (piece == 1 && size > 2000) continue;
    const Outcome cut = run(all, piece);
    require(cut.state == whole.state && cut.message == whole.message);
  }
  if (whole.state != State::whole) return 0;
  require(whole.message.size() >= 4 && whole.message.size() <= HelloRecords::kMaxHello);
  const auto* message = reinterpret_cast<const uint8_t*>(whole.message.data());
  require(message[0] == 1 && pqedge::load_be24(message + 1) + 4 == whole.message.size());
  require(bodies(all).starts_with(whole.message));
  return 0;
}
