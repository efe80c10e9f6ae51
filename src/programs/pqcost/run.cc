// pqcost run: measures the tracks, chains and tokens on this machine.
#include <sys/ioctl.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <format>
#include <optional>
#include <string>
#include <vector>

#include "measure/host/environment.h"
#include "measure/host/pin.h"
#include "measure/record/csv.h"
#include "measure/record/files.h"
#include "measure/record/history.h"
#include "measure/record/json.h"
#include "measure/record/markdown.h"
#include "measure/timing/cancel.h"
#include "measure/timing/progress.h"
#include "measure/track/plan.h"
#include "measure/track/throughput.h"
#include "measure/track/view.h"
#include "programs/pqcost/commands.h"
#include "programs/pqcost/run_options.h"
#include "programs/pqcost/run_repeat.h"
#include "programs/pqcost/run_session.h"

namespace pqedge::pqcost {

namespace {

using namespace measure;

constexpr std::string_view kDefaultFolder = "pqcost-runs";

int complain(const std::string& message, int status) {
  std::fprintf(stderr, "pqcost run: %s\n", message.c_str());
  return status;
}

unsigned columns_of_terminal() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 120;
}

// ---- output -------------------------------------------------------------------------------------

Result<void> put_out(const Record& record, const std::string& format) {
  const std::string text = format == "json"       ? to_json(record)
                           : format == "csv"      ? to_csv(record)
                           : format == "markdown" ? to_markdown(record)
                                                  : terminal_view(record, columns_of_terminal());
  return write_file("-", text);
}

// Standard output after the file: what was measured is safe before anything else can go wrong.
bool keep(const Record& record, const RunArguments& a) {
  bool good = true;
  const bool to_folder = !a.output.empty() || a.format == "text";
  if (to_folder) {
    const std::string folder = a.output.empty() ? std::string(kDefaultFolder) : a.output;
    const auto path = append_to_history(folder, record);
    if (path) {
      std::fprintf(stderr, "Written to %s\n", path->c_str());
    } else {
      complain(path.error().message, kFailure);
      good = false;
    }
  }
  if (const auto written = put_out(record, a.format); !written) {
    complain(written.error().message, kFailure);
    good = false;
  }
  return good;
}

void tell_duration(const TrackPlan& plan, const Chosen& chosen, const RunArguments& a) {
  if (a.quiet || chosen.tracks.empty()) return;
  const double seconds = plan.seconds() + plan.throughput_seconds();
  std::string more;
  if (chosen.chains || chosen.tokens) more = ", and then certificate chains or tokens";
  if (a.repeat > 1) more += std::format("; {} times", a.repeat);
  std::fprintf(stderr,
               "%zu suites take about %s (%zu iterations or %.3g s a phase)%s. "
               "Ctrl-C keeps what was measured.\n",
               plan.suites(), Progress::duration(seconds).c_str(), a.iterations, a.seconds,
               more.c_str());
}

TrackRunOptions track_options(const RunArguments& a, const Chosen& chosen, const CorePin& pin,
                              const std::atomic<bool>* cancel) {
  const Nanos time = static_cast<Nanos>(a.seconds * static_cast<double>(kSecond));
  TrackRunOptions options{.tracks = chosen.tracks,
                          .providers = a.providers,
                          .all_providers = a.all_providers,
                          .suites = a.suites,
                          .keep_samples = a.samples,
                          .cores = pin.allowed_before(),
                          .throughput_time = a.quick ? kSecond / 5 : kSecond / 2};
  options.limits = {.warm_ups = 50,
                    .iterations = a.iterations,
                    .time = time,
                    .warm_up_time = std::min(time, 5 * kSecond),
                    .cancel = cancel};
  const size_t cores = pin.allowed_before().size();
  options.threads = thread_counts(a.threads.value_or(static_cast<unsigned>(cores)));
  return options;
}

int measure_all(const RunArguments& a, const Chosen& chosen, const std::string& command_line) {
  if (const auto known = check_suites(chosen.tracks, a.suites); !known) {
    return complain(known.error().message, kUsageError);
  }
  CancelOnSignal cancel;
  auto taken = CorePin::take(a.core);
  if (!taken) return complain(taken.error().message, kFailure);
  std::optional<CorePin> pin(std::move(*taken));
  const int core = pin->core();
  if (!a.quiet) std::fprintf(stderr, "Checking known answers, trying each operation...\n");
  const Registry registry = load_registry(a, chosen);
  const auto plan = TrackPlan::make(registry, track_options(a, chosen, *pin, cancel.flag()));
  if (!plan) return complain(plan.error().message, kUsageError);
  tell_duration(*plan, chosen, a);

  const RunSession session{a, chosen, registry, *plan, command_line, cancel.flag()};
  std::vector<Record> records;
  size_t failed = 0;
  bool good = true;
  for (unsigned i = 0; i < a.repeat && !cancel.cancelled(); ++i) {
    if (!pin) {
      auto again = CorePin::take(core);
      if (!again) return complain(again.error().message, kFailure);
      pin.emplace(std::move(*again));
    }
    const std::string title = a.repeat > 1 ? std::format("Run {} of {}", i + 1, a.repeat) : "Run";
    Progress progress(title, plan->seconds() + plan->throughput_seconds(), {.quiet = a.quiet});
    auto done = run_once(session, pin, progress);
    progress.finish();
    failed += done.failed;
    good &= keep(done.record, a);
    records.push_back(std::move(done.record));
  }
  if (a.repeat > 1 && a.format == "text") {
    if (const auto shown = write_file("-", repeat_view(records)); !shown) {
      complain(shown.error().message, kFailure);
      good = false;
    }
  }
  if (failed > 0) complain(std::format("{} suites or parts failed, see above", failed), kFailure);
  if (cancel.cancelled()) {
    if (records.empty()) complain("interrupted before anything was measured", kFailure);
    return cancel.exit_status();
  }
  return good && failed == 0 ? kSuccess : kFailure;
}

}  // namespace

int run_run(int argc, char** argv) {
  CLI::App app{"Measures what post-quantum cryptography costs on this machine", "pqcost run"};
  RunArguments a;
  declare_run(app, a);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kSuccess : kUsageError;
  }
  if (a.quick) make_quick(app, a);
  if (a.repeat > 1 && a.format == "json" && a.output.empty()) {
    return complain("--repeat with --format json needs --output: each run is a document of its own",
                    kUsageError);
  }
  const auto chosen = choose(a.what);
  if (!chosen) return complain(chosen.error().message, kUsageError);
  std::vector<const char*> words{"pqcost"};
  words.insert(words.end(), argv, argv + argc);
  return measure_all(a, *chosen, command_line(words));
}

}  // namespace pqedge::pqcost
