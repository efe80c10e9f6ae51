// pqcost scenario: handshakes over the emulated link (M19), and commands over it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <format>

#include "base/problem.h"
#include "measure/link/command.h"
#include "measure/link/testbed.h"
#include "measure/live/scenario.h"
#include "measure/live/scenario_text.h"
#include "programs/pqcost/commands.h"
#include "programs/pqcost/wire_record.h"

namespace pqedge::pqcost {

namespace {

namespace link = measure::link;
namespace live = measure::live;

std::atomic<bool> cancel = false;

extern "C" void on_cancel(int) { cancel = true; }

struct Arguments {
  std::string name;
  live::ScenarioOptions options;
  std::string link;
  bool quic = false;
  double round_trip = -1;  // ms
  double timeout = 3;
  Output output;
};

struct ExecArguments {
  std::string link;
  std::string server;
  std::string wait_port;
  bool report = false;
  std::vector<std::string> command;
};

std::string list_of_scenarios() {
  std::string text = "Scenarios:\n";
  for (const live::Scenario& scenario : live::scenarios()) {
    text += std::format("  {:<12} {}\n", scenario.name, scenario.summary);
  }
  return text + "\n  exec         run a command over the link (pqcost scenario exec --help)\n";
}

void declare(CLI::App& app, Arguments& a) {
  app.footer(list_of_scenarios());
  app.add_option("name", a.name, "of the scenario")->required();
  app.add_option("--link", a.link, "what every variant's link begins with: delay=20ms,rate=10mbit");
  app.add_option("--rtt", a.round_trip, "round-trip time in ms, in place of the scenario's own")
      ->check(CLI::Range(0.0, 10000.0));
  app.add_option("--runs", a.options.runs, "of each variant, each with its seed")
      ->check(CLI::Range(1U, 1000U))
      ->capture_default_str();
  app.add_option("--seed", a.options.first_seed, "of the first run")->capture_default_str();
  app.add_option("--server", a.options.server,
                 "a shell command that serves in the server's namespace, in place of our own peer");
  app.add_option("--port", a.options.port, "that it listens on (TCP)")->capture_default_str();
  app.add_option("--sni", a.options.sni)->capture_default_str();
  app.add_flag("--quic", a.quic, "over QUIC; needs --server");
  app.add_option("--timeout", a.timeout, "seconds for a handshake")
      ->check(CLI::Range(0.01, 600.0))
      ->capture_default_str();
  declare_output(app, a.output);
}

Result<const live::Scenario*> find_scenario(const std::string& name) {
  std::vector<std::string_view> names;
  for (const live::Scenario& scenario : live::scenarios()) {
    if (scenario.name == name) return &scenario;
    names.push_back(scenario.name);
  }
  const std::string hint = did_you_mean(name, names);
  return fail("\"{}\" is no scenario{}{}; 'pqcost scenario --help' lists them", name,
              hint.empty() ? "" : "; ", hint);
}

Result<void> finish(Arguments& a) {
  auto base = link::parse_settings(a.link);
  if (!base) return std::unexpected(base.error());
  a.options.base = *base;
  a.options.timeout = static_cast<Nanos>(a.timeout * static_cast<double>(kSecond));
  if (a.round_trip >= 0) {
    a.options.round_trip = static_cast<Nanos>(a.round_trip * static_cast<double>(kMillisecond));
  }
  if (a.quic) {
    if (a.options.server.empty()) {
      return fail("--quic needs --server: the peer in this process speaks TLS over TCP");
    }
    a.options.transport = live::Transport::kQuic;
  }
  if (!a.options.server.empty() && a.name == "fragments") {
    return fail("fragments has its own datagrams: --server has no place in it");
  }
  a.options.cancel = &cancel;
  a.options.progress = [](size_t done, size_t of, const std::string& next) {
    std::fprintf(stderr, "[%zu/%zu] %s\n", done, of, next.c_str());
  };
  return {};
}

int run_named(int argc, char** argv) {
  CLI::App app{"Handshakes over an emulated link between two network namespaces (needs root)",
               "pqcost scenario"};
  Arguments a;
  declare(app, a);
  bool go_on = false;
  if (const int status = parse(app, argc, argv, go_on); !go_on) return status;
  const auto scenario = find_scenario(a.name);
  if (!scenario) {
    complain("scenario", scenario.error().message);
    return kUsageError;
  }
  if (const auto finished = finish(a); !finished) {
    complain("scenario", finished.error().message);
    return kUsageError;
  }
  std::signal(SIGINT, on_cancel);
  std::signal(SIGTERM, on_cancel);
  measure::Record record = begin_record(argc, argv, "");
  if (auto done = live::run_scenario(**scenario, a.options, record); !done) {
    return complain("scenario", done.error().message);
  }
  if (record.scenarios.empty()) return complain("scenario", "interrupted before the first run");
  if (auto written = put_out(record, live::describe(record.scenarios), a.output); !written) {
    return complain("scenario", written.error().message);
  }
  return record.complete ? kSuccess : kFailure;
}

// ---- exec ----

void declare(CLI::App& app, ExecArguments& a) {
  app.add_option("--link", a.link, "what the link does: delay=20ms,loss=1%,down.rate=10mbit");
  app.add_option("--server", a.server, "a shell command for the server's namespace");
  app.add_option("--wait-port", a.wait_port,
                 "begin when something listens on this TCP port of the server's");
  app.add_flag("--report", a.report, "say on standard error what the link did");
  app.add_option("command", a.command, "with its arguments, behind --")->required();
}

void say(const char* direction, const link::Counters& c) {
  std::fprintf(stderr,
               "pqcost link %s: offered %lu, delivered %lu, lost %lu, overflowed %lu, too big %lu, "
               "cut %lu, fragments dropped %lu, duplicated %lu, reordered %lu, middlebox dropped "
               "%lu\n",
               direction, c.offered, c.delivered, c.lost, c.overflowed, c.too_big, c.fragmented,
               c.fragments_dropped, c.duplicated, c.reordered, c.middlebox_dropped);
}

Result<int> exec(const ExecArguments& a, const link::Settings& settings) {
  auto testbed = link::Testbed::make();
  if (!testbed) return std::unexpected(testbed.error());
  std::optional<link::Command> server;
  if (!a.server.empty()) {
    auto started = link::Command::start((*testbed)->server(), {"/bin/sh", "-c", a.server}, true);
    if (!started) return std::unexpected(started.error());
    server.emplace(std::move(*started));
  }
  if (!a.wait_port.empty()) {
    const auto port = parse_decimal(a.wait_port);
    if (!port || *port == 0 || *port > 65535) {
      return fail("--wait-port {}: not a port", a.wait_port);
    }
    if (!server) return fail("--wait-port needs --server");
    if (auto up =
            link::wait_for_port(**testbed, static_cast<uint16_t>(*port), *server, 20 * kSecond);
        !up) {
      return std::unexpected(up.error());
    }
  }
  (*testbed)->set(settings);
  auto command = link::Command::start((*testbed)->client(), a.command, false);
  if (!command) return std::unexpected(command.error());
  // The command gets a terminal's Ctrl-C by itself and decides what it means.
  std::signal(SIGINT, SIG_IGN);
  const int status = command->wait();
  if (a.report) {
    const auto [up, down] = (*testbed)->counters();
    say("up", up);
    say("down", down);
    const auto late = (*testbed)->lateness();
    std::fprintf(stderr, "pqcost link: handed on later than due: median %.0f us, 99 %% %.0f us\n",
                 static_cast<double>(late.percentile(50)) / 1000,
                 static_cast<double>(late.percentile(99)) / 1000);
  }
  return status;
}

int run_exec(int argc, char** argv) {
  CLI::App app{
      "Runs a command over the emulated link (needs root). It finds the server at 10.77.0.2, also "
      "in PQCOST_SERVER_IP; its exit status is ours.",
      "pqcost scenario exec"};
  ExecArguments a;
  declare(app, a);
  bool go_on = false;
  if (const int status = parse(app, argc, argv, go_on); !go_on) return status;
  const auto settings = link::parse_settings(a.link);
  if (!settings) {
    complain("scenario exec", settings.error().message);
    return kUsageError;
  }
  const auto status = exec(a, *settings);
  return status ? *status : complain("scenario exec", status.error().message);
}

}  // namespace

int run_scenario(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "exec") return run_exec(argc - 1, argv + 1);
  return run_named(argc, argv);
}

}  // namespace pqedge::pqcost
