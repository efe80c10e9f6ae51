// The checks that need more than the text: the files it names, and TLS names by the library.
#pragma once

#include "base/problem.h"
#include "config/load.h"

namespace pqedge::config {

Problems check_files(const Configuration& configuration);
Problems check_tls(const crypto::TlsSettings& settings);

}  // namespace pqedge::config
