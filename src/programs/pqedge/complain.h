// How a command of pqedge ends that cannot do what it was asked.
#pragma once

#include <cstdio>
#include <string>

namespace pqedge {

// Writes "WHO: WHAT" to standard error; the exit status to return.
inline int complain(const std::string& what, const char* who = "pqedge") {
  std::fprintf(stderr, "%s: %s\n", who, what.c_str());
  return 1;
}

}  // namespace pqedge
