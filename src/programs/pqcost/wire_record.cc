#include "programs/pqcost/wire_record.h"

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <vector>

#include "measure/host/environment.h"
#include "measure/host/network.h"
#include "measure/record/files.h"
#include "measure/record/json.h"
#include "programs/pqcost/commands.h"

namespace pqedge::pqcost {

namespace {

volatile std::sig_atomic_t interrupt_seen = 0;

extern "C" void on_interrupt(int) { interrupt_seen = 1; }

}  // namespace

void declare_output(CLI::App& app, Output& output) {
  app.add_option("--format", output.format, "of standard output")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app.add_option("-o,--output", output.file, "write the record to this file as well, as JSON");
}

int parse(CLI::App& app, int argc, char** argv, bool& go_on) {
  go_on = false;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kSuccess : kUsageError;
  }
  go_on = true;
  return kSuccess;
}

measure::Record begin_record(int argc, char** argv, const std::string& address) {
  measure::Record record;
  record.id = measure::new_record_id();
  std::vector<const char*> arguments{"pqcost"};
  arguments.insert(arguments.end(), argv, argv + argc);
  measure::EnvironmentRequest request;
  request.command_line = measure::command_line(arguments);
  record.environment = measure::environment(request);
  if (!address.empty()) {
    if (auto facts = measure::network_facts_to(address)) record.environment.network = *facts;
  }
  return record;
}

Result<void> put_out(const measure::Record& record, const std::string& text, const Output& output) {
  if (!output.file.empty()) {
    if (auto written = measure::write_record(record, output.file); !written) return written;
  }
  if (output.format == "json") return measure::write_record(record, "-");
  return measure::write_file("-", text);
}

int complain(const char* command, const std::string& message) {
  std::fprintf(stderr, "pqcost %s: %s\n", command, message.c_str());
  return kFailure;
}

void catch_interrupts() {
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
}

bool interrupted() { return interrupt_seen != 0; }

}  // namespace pqedge::pqcost
