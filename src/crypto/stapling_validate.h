// Checks of what is stapled, submitted and compressed.
#pragma once

#include "base/problem.h"
#include "crypto/settings.h"

namespace pqedge::crypto {

// Keys are "tls...". The files that are named are looked at by check_stapling_files().
void validate_stapling(const TlsSettings& settings, Problems& problems);
void check_stapling_files(const TlsSettings& settings, Problems& problems);

}  // namespace pqedge::crypto
