// The client codec. The first byte chooses the method. What it hands over must not depend on how
// the bytes were cut into reads, and a connection that is offered again must have nothing pending.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "unit/wire/http1_support.h"

namespace {

using pqedge::test::BackendExchange;
using pqedge::test::ClientRig;

std::string story(std::string_view method, std::string_view bytes, size_t piece) {
  ClientRig rig;
  rig.limits->max_response_head = 2048;
  rig.limits->max_trailers = 1024;
  rig.limits->max_fields = 32;
  rig.limits->body_window = 512;
  BackendExchange& e = rig.send(method);
  size_t fed = 0;
  while (!bytes.empty() && !rig.closed && rig.available == 0) {
    const size_t n = std::min(piece, bytes.size());
    rig.peer.feed(bytes.substr(0, n));
    bytes.remove_prefix(n);
    if (++fed % 16 == 0) rig.loop->run_once(0);
  }
  rig.settle();
  if (rig.available > 0 && !rig.connection->available()) std::abort();
  rig.peer.end();
  rig.settle();
  if (!rig.closed) std::abort();
  std::string text = e.events + "\n" + e.fields + e.body + "\n";
  return text + pqedge::test::fields_text(e.message.trailers);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || size > 8192) return 0;
  constexpr std::string_view kMethods[] = {"GET", "HEAD", "POST", "OPTIONS"};
  const std::string_view method = kMethods[data[0] % 4];
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  const size_t chunks = pqedge::Chunk::live();
  const std::string whole = story(method, bytes, SIZE_MAX);
  if (story(method, bytes, 1) != whole || story(method, bytes, 7) != whole) std::abort();
  if (pqedge::Chunk::live() != chunks) std::abort();
  return 0;
}
