// A whole probe.
#pragma once

#include "base/result.h"
#include "probe/dial.h"
#include "probe/report.h"

namespace pqedge::probe {

// The most connections that a probe with these options opens; never above kMaxConnections.
unsigned most_connections(const Options& options);

// Finds the first of the host's addresses that takes a connection. The error names each.
Result<net::Address> find_address(const Options& options);

// Error: there is no TLS server, and why. `options` must outlive the call.
Result<Report> run(const Options& options, const net::Address& address);

}  // namespace pqedge::probe
