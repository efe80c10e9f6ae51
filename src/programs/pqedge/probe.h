// pqedge probe: what a TLS server negotiates, and its grade (T21).
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "probe/options.h"

namespace pqedge {

struct ProbeCommand {
  CLI::App* app = nullptr;
  std::string target;
  std::string starttls;
  std::string format = "text";
  std::string fail_below;
  double timeout = 5;
  bool v4 = false;
  bool v6 = false;
  bool no_quic = false;
  bool rules = false;
  probe::Options options;
};

void declare_probe(CLI::App& app, ProbeCommand& command);

// Exit status: 0 graded, 1 graded below --fail-below, 2 no TLS server there or wrong arguments.
int run_probe(ProbeCommand& command);

}  // namespace pqedge
