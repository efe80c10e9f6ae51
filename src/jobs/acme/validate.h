// What is wrong with the settings of ACME, by the text alone.
#pragma once

#include "base/problem.h"
#include "jobs/acme/settings.h"

namespace pqedge::acme {

Problems validate(const Settings& settings);

// The files that the settings name, and the folder of the storage.
Problems check_files(const Settings& settings);

}  // namespace pqedge::acme
