// What the process computes with, chosen once, at start, before anything else of OpenSSL is used:
// OpenSSL's own code, its FIPS provider, or pqedge-fast.so for key exchange and key derivation.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/problem.h"
#include "base/result.h"
#include "crypto/groups.h"
#include "crypto/settings.h"

namespace pqedge::crypto {

Problems validate(const ProviderSettings& settings);

// Once in a process, with no other thread about. An error names the setting.
Result<void> start_providers(const ProviderSettings& settings);

// Whether every algorithm is of the FIPS provider.
bool fips_in_use();

// What SSL_CTX_new_ex() takes as its property query, for every context of the process; null: none.
const char* tls_properties();

// Calls `start`, which fetches algorithms for TLS or QUIC and asks for no properties, so that it
// gets those of tls_properties(). At start, with no other thread about.
void with_tls_properties(const std::function<void()>& start);

// The groups of a preset less those that the FIPS provider has not, where it is in use.
std::vector<const Group*> usable_groups(std::vector<const Group*> groups);

// What was chosen and why, a line each, for the log at start and for `pqedge version`.
struct ProviderReport {
  std::vector<std::string> lines;
  std::vector<std::string> alarms;  // what was asked for and is not used
};
ProviderReport provider_report();

}  // namespace pqedge::crypto
