#include "programs/pqcost/commands.h"

namespace pqedge::pqcost {

// One line each, with the declaration of its function; the file is named after the command.

int run_calculate(int argc, char** argv);
int run_cbom(int argc, char** argv);
int run_compare(int argc, char** argv);
int run_convert(int argc, char** argv);
int run_history(int argc, char** argv);
int run_report(int argc, char** argv);
int run_run(int argc, char** argv);

namespace {

constexpr Command kCommands[] = {
    {"run", "measures the tracks, chains and tokens on this machine", run_run},
    {"compare", "is one run slower than another: regression, none, or cannot tell", run_compare},
    {"history", "a folder of runs: medians, ranges, trends", run_history},
    {"convert", "a record as CSV, Markdown, text or JSON; the record's schema", run_convert},
    {"report", "records as one HTML page: tables, charts, history", run_report},
    {"cbom", "a record as a cryptographic bill of materials (CycloneDX)", run_cbom},
    {"calculate", "what a migration costs your own traffic", run_calculate},
};

}  // namespace

std::span<const Command> commands() { return kCommands; }

}  // namespace pqedge::pqcost
