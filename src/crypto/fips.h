// OpenSSL's FIPS provider (T17).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace pqedge::crypto {

struct FipsModule {
  std::string name;
  std::string version;
  std::string build;
};

// Loads the provider "fips" with the configuration that `openssl fipsinstall` has written, and the
// provider "base" (files, no algorithms), and makes fips=yes what every fetch asks for. The module
// checks its own bytes and runs its self tests; any failure is an error.
Result<FipsModule> load_fips(const std::string& module_config);

// What was found when each algorithm that pqedge lives on was asked for: lines for the report.
// Error: one that is needed is not the FIPS provider's.
Result<std::vector<std::string>> check_fips();

}  // namespace pqedge::crypto
