// dns-01 by dynamic update (RFC 2136) over TCP.
#pragma once

#include <string>

#include "base/result.h"
#include "jobs/acme/settings.h"

namespace pqedge::acme {

// Adds or removes the TXT record `name` with `value` at the zone's primary. Blocks, at most 10 s.
Result<void> update_dns(const DnsSettings& settings, const std::string& name,
                        const std::string& value, bool add);

// The longest of `zones` that `name` is in; empty: none.
std::string zone_of(const std::vector<std::string>& zones, const std::string& name);

}  // namespace pqedge::acme
