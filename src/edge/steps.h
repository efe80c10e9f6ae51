// The life of a request as two visible lists of steps, the same for every HTTP version.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "route/settings.h"

namespace pqedge::edge {

class Exchange;

enum class Verdict : uint8_t {
  next,      // go on with the next step
  answered,  // the step gave the answer, or handed the exchange to who will: the list ends here
  wait       // paused; Exchange::resume() goes on with the next step, on the same worker
};

struct Step {
  std::string_view name;
  Verdict (*run)(Exchange&);
};

// Before the route is known: the same for all.
std::span<const Step> steps_before_route();

// Of a connection without HTTP, which goes to its listener's pool.
std::span<const Step> steps_before_stream();
std::vector<Step> steps_of_stream();

// The route's own list, compiled when the configuration loads. What is off is not in it.
std::vector<Step> compile_steps(const route::RouteSettings& route);

// The list of a request that no route takes.
std::vector<Step> steps_without_route();

}  // namespace pqedge::edge
