// pqcost history: a folder of runs (M17).
#include <CLI/CLI.hpp>
#include <cstdio>

#include "measure/record/files.h"
#include "measure/record/history_output.h"
#include "measure/record/json.h"
#include "programs/pqcost/commands.h"
#include "programs/pqcost/wire_record.h"

namespace pqedge::pqcost {

namespace {

struct Arguments {
  std::string folder;
  std::vector<std::string> add;
  std::string format = "text";
  std::string output = "-";
  measure::HistoryFilter filter;
};

Result<void> add_records(const Arguments& a) {
  for (const std::string& path : a.add) {
    const auto record = measure::read_record(path);
    if (!record) return std::unexpected(record.error());
    const auto kept = measure::append_to_history(a.folder, *record);
    if (!kept) return std::unexpected(kept.error());
    std::fprintf(stderr, "pqcost history: %s is now %s\n", path.c_str(), kept->c_str());
  }
  return {};
}

// The command that makes the page again: what it was made of, and which rows.
std::string command_of(const Arguments& a) {
  std::string command = "pqcost history " + a.folder + " --format markdown";
  for (const auto& [option, value] :
       {std::pair{" --track ", &a.filter.track}, std::pair{" --suite ", &a.filter.suite},
        std::pair{" --host ", &a.filter.host}}) {
    if (!value->empty()) command += option + *value;
  }
  return command;
}

std::string page(const Arguments& a, const measure::History& history) {
  if (a.format == "json") return measure::history_json(history, a.filter);
  if (a.format == "markdown") {
    return measure::history_markdown(history, a.filter, command_of(a));
  }
  return measure::history_text(history, a.filter);
}

}  // namespace

int run_history(int argc, char** argv) {
  CLI::App app{"Shows the runs of a folder, and each figure's median and range over them",
               "pqcost history"};
  Arguments a;
  app.add_option("folder", a.folder, "a folder of records")->required();
  app.add_option("--add", a.add, "put a copy of this record into the folder first; repeatable");
  app.add_option("--track", a.filter.track, "only this track: tls, ssh, ...");
  app.add_option("--suite", a.filter.suite, "this suite's runs, by date and commit");
  app.add_option("--host", a.filter.host, "only this host, by name or id");
  app.add_option("--format", a.format, "text, json, or markdown: a page to publish")
      ->check(CLI::IsMember({"text", "json", "markdown"}))
      ->capture_default_str();
  app.add_option("-o,--output", a.output, "file to write, - for standard output")
      ->capture_default_str();
  bool go_on = false;
  if (const int status = parse(app, argc, argv, go_on); !go_on) return status;
  if (auto added = add_records(a); !added) return complain("history", added.error().message);
  const auto history = measure::load_history(a.folder);
  if (!history) return complain("history", history.error().message);
  for (const Error& e : history->unreadable) complain("history", e.message);
  if (history->entries.empty() && history->unreadable.empty()) {
    return complain("history", a.folder + ": holds no record (*.json)");
  }
  const std::string text = page(a, *history);
  if (auto written = measure::write_file(a.output, text); !written) {
    return complain("history", written.error().message);
  }
  return history->unreadable.empty() ? kSuccess : kFailure;
}

}  // namespace pqedge::pqcost
