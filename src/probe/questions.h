// What is asked by ClientHellos of our own. Each function fills its part of the report and no
// other, so that several may run at once.
#pragma once

#include "probe/ask.h"
#include "probe/report.h"

namespace pqedge::probe {

// At most so many connections each.
inline constexpr unsigned kVersionConnections = 5;
unsigned suite_connections();
unsigned group_connections();
inline constexpr unsigned kStaticRsaConnections = 1;
inline constexpr unsigned kToleranceConnections = 5;

void ask_versions(Dialer& dialer, Report& report);
void ask_suites(Dialer& dialer, Report& report);
void ask_groups(Dialer& dialer, Report& report);
void ask_static_rsa(Dialer& dialer, Report& report);
void ask_tolerance(Dialer& dialer, Report& report);

}  // namespace pqedge::probe
