// dns-01 by a command of the operator's: run without a shell, within a time limit, with what it
// needs in its environment.
#pragma once

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace pqedge::acme {

struct HookCall {
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> environment;  // added to the process's own
  Nanos timeout = 60 * kSecond;
  const std::atomic<bool>* stop = nullptr;
};
// An exit status other than 0 is an error, with the last that it wrote. Past the time limit the
// command and all that it started are killed.
Result<void> run_hook(const HookCall& call);

}  // namespace pqedge::acme
