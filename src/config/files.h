// The checks that need more than the text: the files and directories that it names.
#pragma once

#include "base/problem.h"
#include "config/load.h"

namespace pqedge::config {

Problems check_files(const Configuration& configuration);

}  // namespace pqedge::config
