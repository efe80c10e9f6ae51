#include "programs/pqcost/commands.h"

namespace pqedge::pqcost {

// One line each, with the declaration of its function; the file is named after the command.

int run_calculate(int argc, char** argv);
int run_cbom(int argc, char** argv);
int run_compare(int argc, char** argv);
int run_convert(int argc, char** argv);
int run_history(int argc, char** argv);
int run_live(int argc, char** argv);
int run_load(int argc, char** argv);
int run_providers(int argc, char** argv);
int run_report(int argc, char** argv);
int run_limits(int argc, char** argv);
int run_run(int argc, char** argv);
int run_scenario(int argc, char** argv);

namespace {

constexpr Command kCommands[] = {
    {"run", "measures the tracks, chains and tokens on this machine", run_run},
    {"providers", "which libraries there are, which code runs, how each answered test vectors",
     run_providers},
    {"live", "real handshakes with a server over TLS, QUIC or SSH, read from the wire", run_live},
    {"scenario", "handshakes over an emulated link: delay, loss, MTU, middleboxes", run_scenario},
    {"load", "open-loop load over HTTP/1.1, 2 and 3 with chosen groups", run_load},
    {"limits", "what web servers and proxies do with large tokens and cookies", run_limits},
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
