// pqcost convert: a record in another form (M15).
#include <CLI/CLI.hpp>

#include "measure/record/csv.h"
#include "measure/record/files.h"
#include "measure/record/json.h"
#include "measure/record/markdown.h"
#include "measure/record/text.h"
#include "programs/pqcost/commands.h"
#include "programs/pqcost/wire_record.h"

namespace pqedge::pqcost {

namespace {

struct Arguments {
  std::string record;
  std::string format = "text";
  std::string output = "-";
  bool schema = false;
};

std::string converted(const measure::Record& record, const std::string& format) {
  if (format == "csv") return measure::to_csv(record);
  if (format == "samples") return measure::samples_to_csv(record);
  if (format == "markdown") return measure::to_markdown(record);
  if (format == "json") return measure::to_json(record);
  return measure::to_text(record);
}

Result<void> convert(const Arguments& a) {
  if (a.schema) return measure::write_file(a.output, measure::record_schema());
  const auto record = measure::read_record(a.record);
  if (!record) return std::unexpected(record.error());
  return measure::write_file(a.output, converted(*record, a.format));
}

}  // namespace

int run_convert(int argc, char** argv) {
  CLI::App app{"Writes a record in another form", "pqcost convert"};
  Arguments a;
  auto* record = app.add_option("record", a.record, "the record's JSON file");
  app.add_option("--format", a.format,
                 "csv (a figure a row), samples (a sample a row), markdown, json or text")
      ->check(CLI::IsMember({"csv", "samples", "markdown", "json", "text"}))
      ->capture_default_str();
  app.add_option("-o,--output", a.output, "file to write, - for standard output")
      ->capture_default_str();
  app.add_flag("--schema", a.schema, "write the record's JSON Schema instead")->excludes(record);
  bool go_on = false;
  if (const int status = parse(app, argc, argv, go_on); !go_on) return status;
  if (!a.schema && a.record.empty()) {
    complain("convert", "no record was given");
    return kUsageError;
  }
  if (const auto done = convert(a); !done) return complain("convert", done.error().message);
  return kSuccess;
}

}  // namespace pqedge::pqcost
