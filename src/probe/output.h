// A report for people and for programs.
#pragma once

#include <string>

#include "probe/grade.h"
#include "probe/report.h"

namespace pqedge::probe {

// `colour`: with escape sequences of a terminal.
std::string to_text(const Report& report, const Verdict& verdict, bool colour);
// One object, as docs/probe-report.schema.json has it.
std::string to_json(const Report& report, const Verdict& verdict);

std::string date_text(int64_t unix_seconds);  // "2026-11-30"

}  // namespace pqedge::probe
