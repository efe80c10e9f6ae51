// An exchange of UDP datagrams that have the sizes of IKEv2's messages: what a path that cuts, or
// drops fragments, does to them (M19).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "measure/link/testbed.h"
#include "measure/record/record.h"

namespace pqedge::measure::live {

using Datagrams = std::vector<std::vector<uint8_t>>;

struct ExchangeStep {  // all of the request comes before any of the answer is sent
  std::string name;
  Datagrams request;
  Datagrams answer;
};

// IKE_SA_INIT with one method, and with `additional` IKE_INTERMEDIATE, in messages of at most
// `largest` bytes (0: in one message, whatever its size).
Result<std::vector<ExchangeStep>> ike_steps(uint16_t method, uint16_t additional, size_t largest);

// Runs them from the client to a responder in the server's namespace. Nothing is sent again: a
// datagram that does not arrive ends it, and the outcome is "no answer". IP may fragment.
LiveRecord exchange_datagrams(const link::Testbed& testbed, const std::vector<ExchangeStep>& steps,
                              Nanos timeout);

}  // namespace pqedge::measure::live
