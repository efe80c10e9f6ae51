// Whether the QUIC settings are within what the protocol and the machine allow.
#pragma once

#include "base/problem.h"
#include "wire/quic/settings.h"

namespace pqedge::quic {

// Keys are "quic.NAME".
Problems validate(const Settings& settings);

}  // namespace pqedge::quic
