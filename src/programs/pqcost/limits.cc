// pqcost limits: what the installed programs do with large tokens, cookies and certificates (M20).
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <format>

#include "measure/limits/limits.h"
#include "programs/pqcost/commands.h"
#include "programs/pqcost/wire_record.h"

namespace pqedge::pqcost {

namespace {

struct Arguments {
  std::vector<std::string> paths;  // NAME=PATH
  measure::LimitsOptions options;
  Output output;
};

Result<void> read_paths(Arguments& a) {
  for (const std::string& text : a.paths) {
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == text.size()) {
      return fail("--path {}: not NAME=PATH", text);
    }
    a.options.paths[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return {};
}

// The pqedge that was built with this program is the one that is asked, if it is there.
void find_our_own(measure::LimitsOptions& options) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string beside = (self.parent_path() / "pqedge").string();
  if (!error && std::filesystem::exists(beside, error)) options.paths.emplace("pqedge", beside);
}

std::string table_of(const measure::Record& record) {
  std::string text;
  std::string heading;
  for (const measure::LimitRecord& line : record.limits) {
    const std::string next =
        std::format("{} ({}), {}", line.software, line.version, line.http_version);
    if (next != heading) {
      heading = next;
      text += std::format("{}{}\n", text.empty() ? "" : "\n", heading);
    }
    text += std::format("  {:<48} {:>8}  {}\n", line.what, line.bytes, line.outcome);
  }
  for (const measure::AbsentRecord& absent : record.absent) {
    text += std::format("\nnot asked: {}{}{}: {}\n", absent.provider,
                        absent.algorithm.empty() ? "" : ", ", absent.algorithm, absent.reason);
  }
  return text;
}

}  // namespace

int run_limits(int argc, char** argv) {
  CLI::App app{
      "Starts web servers and proxies that are installed with their default settings, on\n"
      "loopback, and asks each with real tokens, cookies and certificates over every HTTP version",
      "pqcost limits"};
  Arguments a;
  std::string known;
  for (const std::string_view name : measure::limit_programs()) {
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  app.add_option("programs", a.options.programs, "which: " + known + "; all when none is named");
  app.add_option("--path", a.paths, "NAME=PATH of a program that PATH does not lead to");
  bool no_search = false;
  app.add_flag("--no-search", no_search, "do not look for the largest token that is taken");
  declare_output(app, a.output);
  bool go_on = false;
  if (const int status = parse(app, argc, argv, go_on); !go_on) return status;
  a.options.search_largest = !no_search;
  if (auto read = read_paths(a); !read) {
    complain("limits", read.error().message);
    return kUsageError;
  }
  find_our_own(a.options);
  catch_interrupts();
  a.options.cancelled = [] { return interrupted(); };
  a.options.progress = [](std::string_view program, std::string_view version) {
    std::fprintf(stderr, "pqcost limits: %.*s, %.*s\n", static_cast<int>(program.size()),
                 program.data(), static_cast<int>(version.size()), version.data());
  };
  measure::Record record = begin_record(argc, argv, "");
  if (auto done = measure::run_limits(a.options, record); !done) {
    return complain("limits", done.error().message);
  }
  if (auto put = put_out(record, table_of(record), a.output); !put) {
    return complain("limits", put.error().message);
  }
  return kSuccess;
}

}  // namespace pqedge::pqcost
