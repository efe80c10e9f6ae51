// The server codec. What it hands over must not depend on how the bytes were cut into reads, and
// whatever comes in, the connection must come to its end and leave no chunk behind.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "unit/wire/http1_support.h"

namespace {

using pqedge::test::Exchange;
using pqedge::test::ServerRig;

// What the exchanges saw of `bytes`, fed in pieces of `piece` bytes. Each request is answered.
std::string story(std::string_view bytes, size_t piece) {
  ServerRig rig;
  rig.limits->max_target = 256;
  rig.limits->max_head = 2048;
  rig.limits->max_trailers = 1024;
  rig.limits->max_fields = 32;
  rig.limits->body_window = 512;
  rig.limits->max_body = 4096;
  rig.prepare = [](Exchange& e) {
    e.at_head = [&e] {
      if (e.events == "head(end) ") e.answer(200, "ok");
    };
    e.at_end = [&e] { e.answer(200, "ok"); };
    e.at_bad = [&e] { e.answer(e.refused, "no"); };
  };
  size_t fed = 0;
  while (!bytes.empty() && !rig.closed) {
    const size_t n = std::min(piece, bytes.size());
    rig.peer.feed(bytes.substr(0, n));
    bytes.remove_prefix(n);
    if (++fed % 16 == 0) rig.loop->run_once(0);
  }
  rig.settle();
  while (!rig.closed && rig.peer.input.size() > 0 && !rig.peer.reading_paused) rig.settle();
  std::string text;
  for (const Exchange& e : rig.exchanges) {
    if (e.refused != 0) {  // for which of several faults, and how late, depends on the reads
      text += "refused\n";
      continue;
    }
    text += e.events + "\n";
    text += std::string(e.message.method_text) + " " + std::string(e.message.target) + "\n";
    text += pqedge::test::fields_text(e.message.fields) + e.body + "\n";
    text += pqedge::test::fields_text(e.message.trailers);
  }
  rig.peer.end();
  rig.settle();
  if (!rig.closed) std::abort();
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 8192) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const size_t chunks = pqedge::Chunk::live();
  const std::string whole = story(bytes, SIZE_MAX);
  if (story(bytes, 1) != whole || story(bytes, 7) != whole) std::abort();
  if (pqedge::Chunk::live() != chunks) std::abort();
  return 0;
}
