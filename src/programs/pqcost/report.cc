// pqcost report: records as one HTML page (M16).
#include "measure/report/report.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "programs/pqcost/commands.h"
#include "programs/pqcost/wire_record.h"

namespace pqedge::pqcost {

int run_report(int argc, char** argv) {
  CLI::App app{"Makes one self-contained HTML page of records: folders of them, or single files",
               "pqcost report"};
  std::vector<std::string> paths;
  measure::report::ReportOptions options;
  options.output = "report.html";
  app.add_option("records", paths, "folders of records, or records (*.json)")->required();
  app.add_option("-o,--output", options.output, "file to write, - for standard output")
      ->capture_default_str();
  app.add_option("--title", options.title, "heading of the page");
  bool go_on = false;
  if (const int status = parse(app, argc, argv, go_on); !go_on) return status;
  const auto history = measure::report::read_records(paths);
  if (!history) return complain("report", history.error().message);
  for (const Error& e : history->unreadable) complain("report", e.message);
  if (auto written = measure::report::write_report(*history, options); !written) {
    return complain("report", written.error().message);
  }
  if (options.output != "-") {
    std::fprintf(stderr, "pqcost report: %zu record%s in %s\n", history->entries.size(),
                 history->entries.size() == 1 ? "" : "s", options.output.c_str());
  }
  return history->unreadable.empty() ? kSuccess : kFailure;
}

}  // namespace pqedge::pqcost
