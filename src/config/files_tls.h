// The files of TLS policies and of TLS toward backends.
#pragma once

#include "base/problem.h"
#include "edge/settings.h"

namespace pqedge::config {

// Authorities, revocation lists, certificates shown to backends: what cannot be read or used.
Problems check_tls_files(const edge::Settings& settings);

}  // namespace pqedge::config
