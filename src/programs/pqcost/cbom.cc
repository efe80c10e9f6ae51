// pqcost cbom: a record as a cryptographic bill of materials (M25).
#include <CLI/CLI.hpp>

#include "measure/record/cbom.h"
#include "measure/record/files.h"
#include "measure/record/json.h"
#include "programs/pqcost/commands.h"
#include "programs/pqcost/wire_record.h"

namespace pqedge::pqcost {

int run_cbom(int argc, char** argv) {
  CLI::App app{"Writes the measured algorithms as CycloneDX 1.6, their cost as properties",
               "pqcost cbom"};
  std::string path;
  std::string output = "-";
  app.add_option("record", path, "the record's JSON file")->required();
  app.add_option("-o,--output", output, "file to write, - for standard output")
      ->capture_default_str();
  bool go_on = false;
  if (const int status = parse(app, argc, argv, go_on); !go_on) return status;
  const auto record = measure::read_record(path);
  if (!record) return complain("cbom", record.error().message);
  if (auto written = measure::write_file(output, measure::to_cyclonedx(*record)); !written) {
    return complain("cbom", written.error().message);
  }
  return kSuccess;
}

}  // namespace pqedge::pqcost
