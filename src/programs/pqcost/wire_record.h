// What the commands that measure on the wire share: a record with its environment, and its ways
// out.
#pragma once

#include <string>

#include "base/result.h"
#include "measure/record/record.h"

namespace CLI {
class App;
}

namespace pqedge::pqcost {

struct Output {
  std::string format = "text";  // "text", "json"
  std::string file;             // empty: none beside standard output
};
void declare_output(CLI::App& app, Output& output);

// Parses; an exit status when the command ends here (help, usage).
int parse(CLI::App& app, int argc, char** argv, bool& go_on);

// With its id and environment; the network's facts are those of the way to `address`, if it is not
// empty, in this thread's namespace.
measure::Record begin_record(int argc, char** argv, const std::string& address);

// To the file, and as JSON to standard output when the format says so, else `text`.
Result<void> put_out(const measure::Record& record, const std::string& text, const Output& output);

// kFailure, with "pqcost COMMAND: message" on standard error.
int complain(const char* command, const std::string& message);

// Set by SIGINT and SIGTERM after catch_interrupts().
void catch_interrupts();
bool interrupted();

}  // namespace pqedge::pqcost
