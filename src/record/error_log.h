// The error log: receives what every module says through base/log.h and writes it off their
// threads. One line is "TIME LEVEL COMPONENT: MESSAGE".
#pragma once

#include "base/result.h"
#include "record/settings.h"

namespace pqedge::record {

// Opens the file (standard error when none is set) and becomes the process's log sink; the level is
// set too. Called again (reload) it changes file and level; on an error nothing changes.
Result<void> install_error_log(const LogSettings& settings);
// Opens the file again by its name (SIGUSR1).
void reopen_error_log();
// Writes what is queued, for at most two seconds, and makes standard error the sink again. Happens
// by itself at exit.
void close_error_log();

}  // namespace pqedge::record
