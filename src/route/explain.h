// Why a request takes the route it takes, and no other (R1): for people, route by route.
#pragma once

#include <string>
#include <vector>

#include "route/table.h"

namespace pqedge::route {

struct Candidate {
  const Route* route = nullptr;
  bool taken = false;
  bool matches = false;  // whole; if it is not taken, another one goes before it
  std::string why;       // "takes it", or what it lacks, or what goes before it
};

// The one that takes the request first, then those that match too in the order in which they would
// take it, then the others in the order of the file. It looks at every route by itself, so it is an
// account of the rules of table.h that shares nothing with the look-up but the conditions.
std::vector<Candidate> explain(const Table& table, const Subject& subject);

}  // namespace pqedge::route
