// The load generator's reader of HTTP/1.1 answers: however an answer is cut, it ends at the same
// byte with the same body. The first byte says whether the request was HEAD.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/bytes.h"
#include "measure/load/http1_answer.h"

namespace {

using pqedge::Bytes;
using pqedge::measure::load::Http1Answer;

struct Outcome {
  Http1Answer answer;
  std::string body;
  size_t taken = 0;
};

Outcome read(Bytes bytes, size_t piece, bool has_body) {
  Outcome out;
  out.answer.begin(has_body);
  while (out.taken < bytes.size() && !out.answer.done() && !out.answer.broken()) {
    const Bytes rest = bytes.subspan(out.taken);
    Bytes body;
    const size_t taken = out.answer.take(rest.first(std::min(piece, rest.size())), body);
    if (taken == 0 || taken > rest.size() || body.size() > taken) std::abort();
    out.taken += taken;
    out.body += pqedge::as_text(body);
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1 || size > 8192) return 0;
  const Bytes bytes(data + 1, size - 1);
  const bool has_body = (data[0] & 1) == 0;
  const Outcome whole = read(bytes, SIZE_MAX, has_body);
  for (const size_t piece : {size_t{1}, size_t{5}}) {
    const Outcome cut = read(bytes, piece, has_body);
    if (cut.answer.done() != whole.answer.done() || cut.answer.broken() != whole.answer.broken()) {
      std::abort();
    }
    if (cut.body != whole.body || cut.answer.status() != whole.answer.status()) std::abort();
    if (whole.answer.done() && cut.taken != whole.taken) std::abort();
  }
  return 0;
}
