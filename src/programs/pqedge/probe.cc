#include "programs/pqedge/probe.h"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "probe/grade.h"
#include "probe/output.h"
#include "probe/run.h"

namespace pqedge {
namespace {

constexpr int kGraded = 0;
constexpr int kBelow = 1;
constexpr int kNotGraded = 2;

int refuse(const std::string& message) {
  std::fprintf(stderr, "pqedge probe: %s\n", message.c_str());
  return kNotGraded;
}

void print_report(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

Result<void> finish(ProbeCommand& c) {
  probe::Options& o = c.options;
  if (c.target.empty()) return fail("HOST[:PORT] is missing");
  if (auto target = probe::set_target(o, c.target); !target) return target;
  if (!c.starttls.empty()) {
    const auto protocol = probe::parse_starttls(c.starttls);
    if (!protocol) return std::unexpected(protocol.error());
    o.starttls = *protocol;
  }
  if (!c.fail_below.empty() && !probe::parse_grade(c.fail_below)) {
    return fail("--fail-below {}: a grade from A to F is meant", c.fail_below);
  }
  if (!o.ca_file.empty() && access(o.ca_file.c_str(), R_OK) != 0) {
    return fail_errno(errno, "--ca-file {}", o.ca_file);
  }
  o.family = c.v4 ? probe::Family::v4 : c.v6 ? probe::Family::v6 : probe::Family::any;
  o.timeout = static_cast<Nanos>(c.timeout * static_cast<double>(kSecond));
  o.quic = !c.no_quic;
  return {};
}

bool wants_colour() {
  const char* none = std::getenv("NO_COLOR");  // no-color.org
  return isatty(STDOUT_FILENO) == 1 && (none == nullptr || *none == '\0');
}

}  // namespace

void declare_probe(CLI::App& app, ProbeCommand& c) {
  c.app = app.add_subcommand("probe", "Show what a TLS server negotiates, and grade it.");
  CLI::App& p = *c.app;
  p.add_option("TARGET", c.target, "HOST[:PORT]; the port is 443, or the STARTTLS protocol's own.");
  p.add_option("--sni", c.options.sni, "The server name to send and to check, when not the host.");
  p.add_option("--ca-file", c.options.ca_file,
               "Certificates (PEM) to trust instead of the system's.");
  p.add_flag("--ignore-trust", c.options.ignore_trust,
             "Grade without looking at whether the chain is trusted.");
  p.add_option("--starttls", c.starttls, "smtp or imap: begin in the clear.");
  auto* v4 = p.add_flag("-4", c.v4, "Only IPv4.");
  p.add_flag("-6", c.v6, "Only IPv6.")->excludes(v4);
  p.add_flag("--no-quic", c.no_quic, "Leave the UDP port alone.");
  p.add_option("--parallel", c.options.parallel, "Connections at once.")
      ->check(CLI::Range(1U, probe::kMaxParallel))
      ->capture_default_str();
  p.add_option("--timeout", c.timeout, "Seconds for each connection.")
      ->check(CLI::Range(0.1, 60.0))
      ->capture_default_str();
  p.add_option("--format", c.format, "text or json.")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  p.add_option("--fail-below", c.fail_below, "End with status 1 when the grade is below this one.");
  p.add_flag("--rules", c.rules, "Print the rules of the grade and end.");
}

int run_probe(ProbeCommand& c) {
  if (c.rules) {
    print_report(probe::rules_text());
    return 0;
  }
  if (auto ok = finish(c); !ok) return refuse(ok.error().message);
  signal(SIGPIPE, SIG_IGN);
  const auto address = probe::find_address(c.options);
  if (!address) return refuse(address.error().message);
  std::fprintf(stderr, "pqedge probe: %s, at most %u connections, %u at a time\n",
               address->to_string().c_str(), probe::most_connections(c.options),
               c.options.parallel);
  const auto report = probe::run(c.options, *address);
  if (!report) return refuse(c.target + ": " + report.error().message);
  const probe::Verdict verdict = probe::judge(*report);
  print_report(c.format == "json" ? probe::to_json(*report, verdict)
                                  : probe::to_text(*report, verdict, wants_colour()));
  const bool below = !c.fail_below.empty() && verdict.grade > *probe::parse_grade(c.fail_below);
  return below ? kBelow : kGraded;
}

}  // namespace pqedge
