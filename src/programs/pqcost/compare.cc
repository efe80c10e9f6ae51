// pqcost compare: is B slower than A (M17)?
#include <CLI/CLI.hpp>
#include <filesystem>

#include "measure/record/compare.h"
#include "measure/record/files.h"
#include "measure/record/history.h"
#include "measure/record/json.h"
#include "programs/pqcost/commands.h"
#include "programs/pqcost/wire_record.h"

namespace pqedge::pqcost {

namespace {

struct Arguments {
  std::string before;
  std::string after;
  std::string format = "text";
  std::string output = "-";
  measure::CompareOptions options;
};

// A file is one run, a folder is all its runs: one that cannot be read could change the answer.
Result<std::vector<measure::Record>> read_side(const std::string& path) {
  std::vector<measure::Record> records;
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    auto record = measure::read_record(path);
    if (!record) return std::unexpected(record.error());
    records.push_back(std::move(*record));
    return records;
  }
  auto history = measure::load_history(path);
  if (!history) return std::unexpected(history.error());
  if (!history->unreadable.empty()) return std::unexpected(history->unreadable.front());
  if (history->entries.empty()) return fail("{}: holds no record (*.json)", path);
  for (measure::HistoryEntry& e : history->entries) records.push_back(std::move(e.record));
  return records;
}

int status_of(measure::Verdict verdict) {
  switch (verdict) {
    case measure::Verdict::none: return kSuccess;
    case measure::Verdict::regression: return kRegression;
    case measure::Verdict::cannot_tell: break;
  }
  return kCannotTell;
}

}  // namespace

int run_compare(int argc, char** argv) {
  CLI::App app{
      "Says whether AFTER is slower than BEFORE\n\n"
      "Exit status: 0 no regression, 3 a regression, 4 it cannot be told, 1 a record cannot be\n"
      "read, 2 wrong usage",
      "pqcost compare"};
  Arguments a;
  app.add_option("before", a.before, "a record, or a folder of records")->required();
  app.add_option("after", a.after, "a record, or a folder of records")->required();
  app.add_option("--threshold", a.options.threshold_percent,
                 "per cent; a smaller change is no regression")
      ->check(CLI::Range(0.0, 1000.0))
      ->capture_default_str();
  app.add_option("--format", a.format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app.add_option("-o,--output", a.output, "file to write, - for standard output")
      ->capture_default_str();
  bool go_on = false;
  if (const int status = parse(app, argc, argv, go_on); !go_on) return status;
  const auto before = read_side(a.before);
  if (!before) return complain("compare", before.error().message);
  const auto after = read_side(a.after);
  if (!after) return complain("compare", after.error().message);
  const measure::Comparison comparison = measure::compare(*before, *after, a.options);
  const std::string text = a.format == "json" ? measure::to_json(comparison, a.options)
                                              : measure::to_text(comparison, a.options);
  if (auto written = measure::write_file(a.output, text); !written) {
    return complain("compare", written.error().message);
  }
  return status_of(comparison.verdict);
}

}  // namespace pqedge::pqcost
