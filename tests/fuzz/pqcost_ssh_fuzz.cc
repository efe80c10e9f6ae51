// What an SSH server says in the clear: any payload is read whole or refused with a reason.
#include <cstdint>
#include <cstdlib>

#include "measure/live/ssh_wire.h"

namespace {

using pqedge::Bytes;

void expect_inside(Bytes whole, Bytes part) {
  if (part.empty()) return;
  if (part.data() < whole.data() || part.data() + part.size() > whole.data() + whole.size()) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pqedge::measure::live;
  if (size > 40'000) return 0;
  const Bytes payload(data, size);
  if (const auto init = parse_kexinit(payload); !init) {
    if (init.error().message.empty()) std::abort();
  } else {
    for (const auto& name : init->methods) {
      if (name.empty() || name.find(',') != name.npos) std::abort();
    }
  }
  if (const auto reply = parse_reply(payload); !reply) {
    if (reply.error().message.empty()) std::abort();
  } else {
    for (const Bytes part : {reply->host_key, reply->share, reply->signature}) {
      expect_inside(payload, part);
    }
  }
  return 0;
}
