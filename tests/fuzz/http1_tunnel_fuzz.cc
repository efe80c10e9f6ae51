// A backend's answer to a request for an upgrade. Only a 101 to exactly that protocol makes a
// tunnel; what follows it is handed over byte for byte, however it was cut into reads.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "unit/wire/http1_support.h"

namespace {

using namespace pqedge;

struct Story {
  std::string events, body;
  bool tunnel = false;
};

Story story(std::string_view bytes, size_t piece) {
  test::ClientRig rig;
  rig.limits->max_response_head = 2048;
  rig.limits->max_fields = 32;
  rig.limits->body_window = 64;
  test::BackendExchange& e = rig.open();
  http::Request request(e.arena);
  request.method_text = "GET";
  request.method = http::Method::get;
  request.authority = "b";
  request.target = "/";
  request.upgrade = "websocket";
  e.stream->send_request_head(request, true);
  rig.settle();
  size_t fed = 0;
  while (!bytes.empty() && !rig.closed && rig.available == 0) {
    const size_t n = std::min(piece, bytes.size());
    rig.peer.feed(bytes.substr(0, n));
    bytes.remove_prefix(n);
    if (++fed % 16 == 0) rig.loop->run_once(0);
  }
  rig.settle();
  if (!rig.closed) {
    rig.peer.end();
    rig.settle();
  }
  const bool tunnel = e.message.tunnel;
  if (tunnel && !rig.closed) {  // both directions
    e.stream->send_request_end(nullptr);
    rig.settle();
    if (!rig.closed) std::abort();
  }
  return {e.events, e.body, tunnel};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 8192) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Story whole = story(bytes, SIZE_MAX);
  for (const size_t piece : {size_t{1}, size_t{7}}) {
    const Story cut = story(bytes, piece);
    if (cut.events != whole.events || cut.body != whole.body) std::abort();
  }
  if (whole.tunnel) {
    const size_t head = bytes.rfind(whole.body);
    if (head == std::string_view::npos || !bytes.ends_with(whole.body)) std::abort();
    if (whole.events.find("101") == std::string::npos) std::abort();
  }
  return 0;
}
