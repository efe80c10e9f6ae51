// What the probe reads of servers: the first flight in pieces, whole messages, an answer's head.
#include <cstdlib>
#include <string>

#include "crypto/handshake_messages.h"
#include "probe/flight.h"
#include "probe/hello.h"

namespace {

using pqedge::Bytes;
namespace probe = pqedge::probe;

void require(bool condition) {
  if (!condition) std::abort();
}

// The first byte says how the rest is cut.
void read_flight(Bytes in) {
  if (in.empty()) return;
  const size_t piece = size_t{in[0]} + 1;
  probe::FlightReader reader;
  bool done = false;
  for (Bytes rest = in.subspan(1); !rest.empty() && !done;) {
    const size_t n = rest.size() < piece ? rest.size() : piece;
    done = reader.take(rest.first(n));
    rest = rest.subspan(n);
  }
  const probe::Answer answer = done ? reader.answer() : reader.end(probe::Outcome::closed);
  require(!probe::outcome_name(answer.outcome).empty());
  require(answer.negotiated() || !answer.detail.empty());
  for (const char c : answer.detail) require(static_cast<unsigned char>(c) >= 0x20);
  if (answer.hello.group) require(!probe::group_label(*answer.hello.group).empty());
  require(!probe::suite_label(answer.hello.cipher).empty());
}

void read_message(Bytes in) {
  if (const auto found = probe::find_encrypted_extension(in, 0xfe0d)) {
    require(found->empty() ||
            (found->data() >= in.data() && found->data() + found->size() <= in.data() + in.size()));
  }
  if (const auto extras = probe::read_certificate_extras(in)) {
    require(extras->staple <= in.size() && extras->scts <= in.size());
  }
  if (const auto facts = pqedge::crypto::read_certificate(in)) require(facts->der <= in.size());
  static_cast<void>(pqedge::crypto::parse_server_hello(in));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Bytes in(data, size);
  read_flight(in);
  read_message(in);
  const std::string alt_svc = probe::find_alt_svc(pqedge::as_text(in));
  require(alt_svc.size() <= 2 * size);
  static_cast<void>(probe::http3_port(alt_svc));
  static_cast<void>(probe::http3_port(pqedge::as_text(in)));
  return 0;
}
