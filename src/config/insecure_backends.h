// Pools that take whatever certificate their servers show.
#pragma once

#include "base/result.h"
#include "config/load.h"

namespace pqedge::config {

// What the file asks for (`tls_verify = false`) must also be said on the command line: a file that
// was copied, or changed by another, is not enough to switch verification off. The error names each
// key.
Result<void> check_insecure_backends(const Configuration& configuration, bool allowed);

}  // namespace pqedge::config
