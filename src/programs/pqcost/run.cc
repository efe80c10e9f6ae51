// pqcost run: measures the tracks, chains and tokens on this machine.
#include <CLI/CLI.hpp>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <format>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/problem.h"
#include "measure/chain/chain.h"
#include "measure/host/environment.h"
#include "measure/host/noise.h"
#include "measure/host/pin.h"
#include "measure/host/withhold.h"
#include "measure/provider/registry.h"
#include "measure/record/csv.h"
#include "measure/record/files.h"
#include "measure/record/history.h"
#include "measure/record/json.h"
#include "measure/record/markdown.h"
#include "measure/timing/cancel.h"
#include "measure/timing/progress.h"
#include "measure/token/token.h"
#include "measure/track/plan.h"
#include "measure/track/throughput.h"
#include "measure/track/view.h"
#include "programs/pqcost/commands.h"
#include "programs/pqcost/run_repeat.h"

namespace pqedge::pqcost {

namespace {

using namespace measure;

constexpr std::string_view kChains = "chains";
constexpr std::string_view kTokens = "tokens";
constexpr std::string_view kDefaultFolder = "pqcost-runs";

struct Arguments {
  std::vector<std::string> what;
  std::vector<std::string> providers;
  bool all_providers = false;
  std::vector<std::string> suites;
  bool quick = false;
  size_t iterations = 1000;
  double seconds = 5;
  bool samples = false;
  unsigned repeat = 1;
  std::optional<int> core;
  std::optional<unsigned> threads;
  std::string output;
  std::string format = "text";
  std::string host_name;
  bool quiet = false;
};

struct Chosen {
  std::vector<Track> tracks;
  bool chains = false;
  bool tokens = false;
};

int complain(const std::string& message, int status) {
  std::fprintf(stderr, "pqcost run: %s\n", message.c_str());
  return status;
}

void declare(CLI::App& app, Arguments& a) {
  app.add_option("what", a.what, "tls, ssh, ipsec, signatures, bulk, chains, tokens or all (default)");
  app.add_option("--provider", a.providers,
                 "measure this library; repeatable (default: OpenSSL, and for what it lacks the "
                 "first that has it)");
  app.add_flag("--all-providers", a.all_providers, "every library that offers a suite's primitives")
      ->excludes("--provider");
  app.add_option("--suite", a.suites, "only this suite and the baseline; repeatable");
  app.add_flag("--quick", a.quick, "200 iterations or 0.5 s a phase: for a first look");
  app.add_option("--iterations", a.iterations, "of each phase, at most")
      ->check(CLI::Range(size_t{10}, size_t{10'000'000}))
      ->capture_default_str();
  app.add_option("--seconds", a.seconds, "of each phase, at most (never fewer than 10 iterations)")
      ->check(CLI::Range(0.01, 3600.0))
      ->capture_default_str();
  app.add_flag("--samples", a.samples, "keep each sample in the record");
  app.add_option("--repeat", a.repeat, "so many runs, a record each; from 7 on they give a range")
      ->check(CLI::Range(1U, 1000U))
      ->capture_default_str();
  app.add_option("--core", a.core, "pin to this core (default: the last one allowed)");
  app.add_option("--threads", a.threads,
                 "throughput with 1 to so many threads (default: the cores allowed; 0: none)")
      ->check(CLI::Range(0U, 1024U));
  app.add_option("--output", a.output,
                 "folder for the records (default: pqcost-runs; none with another --format)");
  app.add_option("--format", a.format, "of standard output")
      ->check(CLI::IsMember({"text", "json", "csv", "markdown"}))
      ->capture_default_str();
  app.add_option("--host-name", a.host_name, "instead of the host's own, in the record");
  app.add_flag("-q,--quiet", a.quiet, "no progress");
}

Result<Chosen> choose(const std::vector<std::string>& what) {
  Chosen chosen;
  std::vector<std::string_view> known;
  for (const Track track : kTracks) known.push_back(track_name(track));
  known.insert(known.end(), {kChains, kTokens, "all"});
  std::vector<std::string> words = what;
  if (words.empty()) words.emplace_back("all");
  bool all = false;
  for (const std::string& word : words) {
    if (!std::ranges::contains(known, word)) {
      const std::string hint = did_you_mean(word, known);
      return fail("there is no track {}: {}", in_quotes(word),
                  hint.empty() ? "tls, ssh, ipsec, signatures, bulk, chains, tokens or all" : hint);
    }
    all |= word == "all";
  }
  const auto named = [&](std::string_view name) { return all || std::ranges::contains(words, name); };
  for (const Track track : kTracks) {
    if (named(track_name(track))) chosen.tracks.push_back(track);
  }
  chosen.chains = named(kChains);
  chosen.tokens = named(kTokens);
  return chosen;
}

// What --quick changes, where nothing else was asked for.
void make_quick(const CLI::App& app, Arguments& a) {
  if (app.count("--iterations") == 0) a.iterations = 200;
  if (app.count("--seconds") == 0) a.seconds = 0.5;
}

unsigned columns_of_terminal() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 120;
}

// ---- one run ------------------------------------------------------------------------------------

struct Session {
  const Arguments& arguments;
  const Chosen& chosen;
  const Registry& registry;
  const TrackPlan& plan;
  std::string command_line;
  const std::atomic<bool>* cancel;
  bool cancelled() const { return cancel->load(); }
};

// Only what is going to be used: known answers of everything take seconds.
Registry load_registry(const Chosen& chosen) {
  RegistryOptions options;
  options.wanted = [&chosen](const Algorithm& algorithm) {
    return (chosen.tokens && algorithm.name.starts_with("Falcon")) ||
           std::ranges::any_of(chosen.tracks, [&](Track t) { return uses(t, algorithm); });
  };
  return Registry::load(options);
}

std::vector<Library> libraries_of(const Registry& registry) {
  std::vector<Library> libraries;
  for (const auto& provider : registry.providers()) {
    libraries.push_back({provider->facts().name, provider->facts().version});
  }
  return libraries;
}

void add_registry(const Registry& registry, Record& record) {
  for (const KnownAnswer& k : registry.known_answers()) {
    record.known_answers.push_back({k.provider, k.algorithm, k.source, k.passed, k.detail});
  }
  for (const LeftOut& l : registry.left_out()) {
    record.absent.push_back({l.provider, l.algorithm, l.reason});
  }
}

Result<void> chains_and_tokens(const Session& session, Record& record, Progress& progress) {
  const auto shown = [&](std::string_view kind) {
    return [&progress, kind](size_t done, size_t of, std::string_view next) {
      progress.step(std::format("{} {} of {}: {}", kind, done + 1, of, next));
    };
  };
  if (session.chosen.chains && !session.cancelled()) {
    ChainRunOptions options;
    options.progress = shown(kChains);
    options.cancel = session.cancel;
    if (auto done = run_chains(options, record); !done) return done;
  }
  if (session.chosen.tokens && !session.cancelled()) {
    TokenRunOptions options;
    options.registry = &session.registry;
    options.progress = shown(kTokens);
    options.cancel = session.cancel;
    if (auto done = run_tokens(options, record); !done) return done;
  }
  return {};
}

struct RunResult {
  Record record;
  size_t failed = 0;
};

// Timed tracks on one pinned core; then throughput on all cores, and what only counts bytes.
Result<RunResult> run_once(const Session& session, std::optional<CorePin>& pin, Progress& progress) {
  RunResult out;
  Record& record = out.record;
  record.id = new_record_id();
  add_registry(session.registry, record);
  record.environment = environment({.command_line = session.command_line,
                                    .host_name = session.arguments.host_name,
                                    .pinned_core = pin->core(),
                                    .providers = libraries_of(session.registry)});
  NoiseMonitor monitor = NoiseMonitor::begin(pin->core());
  const TrackRunHooks hooks{.progress = &progress, .between_suites = [&] { monitor.mark(); }};
  out.failed = session.plan.measure(record, hooks);
  add_noise(record.environment, monitor);
  if (!session.chosen.tracks.empty()) {
    record.withheld =
        withhold_run(record.environment.noise, record.environment.host.cpu.logical_cores);
  }
  pin.reset();
  if (!session.cancelled()) out.failed += session.plan.throughput(record, hooks);
  if (auto done = chains_and_tokens(session, record, progress); !done) {
    progress.note(done.error().message);
    ++out.failed;
  }
  if (session.cancelled()) record.complete = false;
  return out;
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
bool keep(const Record& record, const Arguments& a) {
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

void tell_duration(const TrackPlan& plan, const Chosen& chosen, const Arguments& a) {
  if (a.quiet || chosen.tracks.empty()) return;
  const double seconds = plan.seconds() + plan.throughput_seconds();
  std::string more;
  if (chosen.chains || chosen.tokens) more = ", and then certificate chains or tokens";
  if (a.repeat > 1) more += std::format("; {} times", a.repeat);
  std::fprintf(stderr, "%zu suites take about %s (%zu iterations or %.3g s a phase)%s. "
               "Ctrl-C keeps what was measured.\n",
               plan.suites(), Progress::duration(seconds).c_str(), a.iterations, a.seconds,
               more.c_str());
}

TrackRunOptions track_options(const Arguments& a, const Chosen& chosen, const CorePin& pin,
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

int measure_all(const Arguments& a, const Chosen& chosen, const std::string& command_line) {
  CancelOnSignal cancel;
  auto taken = CorePin::take(a.core);
  if (!taken) return complain(taken.error().message, kFailure);
  std::optional<CorePin> pin(std::move(*taken));
  const int core = pin->core();
  if (!a.quiet) std::fprintf(stderr, "Checking known answers, trying each operation...\n");
  const Registry registry = load_registry(chosen);
  const auto plan = TrackPlan::make(registry, track_options(a, chosen, *pin, cancel.flag()));
  if (!plan) return complain(plan.error().message, kUsageError);
  tell_duration(*plan, chosen, a);

  const Session session{a, chosen, registry, *plan, command_line, cancel.flag()};
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
    if (!done) return complain(done.error().message, kFailure);
    failed += done->failed;
    good &= keep(done->record, a);
    records.push_back(std::move(done->record));
  }
  if (a.repeat > 1 && a.format == "text") {
    if (const auto shown = write_file("-", repeat_view(records)); !shown) {
      complain(shown.error().message, kFailure);
      good = false;
    }
  }
  if (failed > 0) complain(std::format("{} suites or parts failed, see above", failed), kFailure);
  if (cancel.cancelled()) return cancel.exit_status();
  return good && failed == 0 ? kSuccess : kFailure;
}

}  // namespace

int run_run(int argc, char** argv) {
  CLI::App app{"Measures what post-quantum cryptography costs on this machine", "pqcost run"};
  Arguments a;
  declare(app, a);
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
  return measure_all(a, *chosen, command_line({argv, static_cast<size_t>(argc)}));
}

}  // namespace pqedge::pqcost
