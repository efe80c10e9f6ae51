// The command line of `pqcost run`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "measure/chain/chain.h"
#include "measure/track/catalog.h"

namespace CLI {
class App;
}

namespace pqedge::pqcost {

struct RunArguments {
  std::vector<std::string> what;
  std::vector<std::string> providers;
  bool all_providers = false;
  std::vector<std::string> suites;
  bool quick = false;
  size_t iterations = 1000;
  double seconds = 5;
  bool samples = false;
  unsigned repeat = 1;
  std::optional<int> core;
  std::optional<unsigned> threads;
  std::string output;
  std::string format = "text";
  std::string host_name;
  bool quiet = false;
  measure::ChainRunOptions flights;  // groups, segments, window, datagram: the windows of `chains`
};

// Which parts of the record a run fills.
struct Chosen {
  std::vector<measure::Track> tracks;
  bool chains = false;
  bool tokens = false;
};

void declare_run(CLI::App& app, RunArguments& arguments);

// What --quick changes, where nothing else was asked for.
void make_quick(const CLI::App& app, RunArguments& arguments);

// An unknown word is an error that names the one it may mean.
Result<Chosen> choose(const std::vector<std::string>& words);

}  // namespace pqedge::pqcost
