// What ngtcp2 calls: each function finds the connection and says it in its terms.
#pragma once

#include <ngtcp2/ngtcp2.h>

namespace pqedge::quic {

struct Callbacks {
  static const ngtcp2_callbacks& table();
};

}  // namespace pqedge::quic
