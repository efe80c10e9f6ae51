// The commands of pqcost. Each is one file of this folder that reads its own options and calls
// src/measure; each returns the process's exit status.
#pragma once

#include <span>
#include <string_view>

namespace pqedge::pqcost {

inline constexpr int kSuccess = 0;
inline constexpr int kFailure = 1;     // it could not be done: a message says what and where
inline constexpr int kUsageError = 2;  // the command line
inline constexpr int kRegression = 3;  // compare: a regression was found
inline constexpr int kCannotTell = 4;  // compare: the records do not allow an answer

struct Command {
  std::string_view name;
  std::string_view summary;           // one line of `pqcost --help`
  int (*run)(int argc, char** argv);  // argv[0] is the command's name
};

std::span<const Command> commands();  // in the order of the help

}  // namespace pqedge::pqcost
