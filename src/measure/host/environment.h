// The record's Environment, filled from this build, this machine and this process (M10).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "measure/host/files.h"
#include "measure/record/record.h"

namespace pqedge::measure {

struct EnvironmentRequest {
  std::string command_line;        // of command_line()
  std::string host_name;           // empty: the host's own
  std::optional<int> pinned_core;  // of CorePin::core()
  // The providers that were loaded (ProviderFacts); those of this build are added here.
  std::vector<Library> providers;
  HostFiles files;
};

// All but the noise, the frequencies (NoiseMonitor) and the network (network_facts()).
Environment environment(const EnvironmentRequest& request);

// Puts in what a monitor found: noise, and the CPU's frequency before and after.
class NoiseMonitor;
void add_noise(Environment& environment, NoiseMonitor& monitor);

// The arguments as a shell would take them: quoted where needed. The program's own path is cut to
// its name.
std::string command_line(std::span<const char* const> arguments);

// RFC 3339, UTC, whole seconds: "2026-11-30T18:00:00Z".
std::string rfc3339(Nanos wall);

// Libraries by what they themselves say at run time, not by the headers of the build.
std::vector<Library> libraries_of_this_build();

}  // namespace pqedge::measure
