// pqcost load: requests at appointed times, and how long each took (M22).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <format>

#include "base/text.h"
#include "measure/load/options.h"
#include "measure/load/report.h"
#include "measure/load/run.h"
#include "programs/pqcost/commands.h"
#include "programs/pqcost/wire_record.h"

namespace pqedge::pqcost {

namespace {

namespace load = measure::load;

struct Arguments {
  load::Options options;
  std::string url;
  std::string protocol = "h2";
  std::vector<std::string> headers;
  double connection_rate = 0;
  double resumption = 0;
  double duration = 10;
  double warm_up = 1;
  double timeout = 10;
  bool closed = false;
  Output output;
};

Nanos from_seconds(double seconds) {
  return static_cast<Nanos>(seconds * static_cast<double>(kSecond));
}

void declare(CLI::App& app, Arguments& a) {
  load::Options& o = a.options;
  app.add_option("url", a.url, "https://host[:port][/path], or http:// for HTTP/1.1")->required();
  app.add_option("-p,--protocol", a.protocol)
      ->check(CLI::IsMember({"h1", "h2", "h3"}))
      ->capture_default_str();
  auto* rate = app.add_option("-r,--rate", o.rate, "requests a second on standing connections")
                   ->check(CLI::Range(0.001, 1e7));
  auto* connection_rate =
      app.add_option("--connection-rate", a.connection_rate,
                     "connections a second, each with a handshake and one request")
          ->check(CLI::Range(0.001, 1e6))
          ->excludes(rate);
  app.add_flag("--closed", a.closed, "no appointed times: each answer starts the next request")
      ->excludes(rate)
      ->excludes(connection_rate);
  app.add_flag("--poisson", o.poisson, "exponential gaps in place of equal ones");
  app.add_option("--resumption", a.resumption,
                 "with --connection-rate: share of the handshakes that resume, 0 to 1")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("-c,--connections", o.connections, "at once, at most")->capture_default_str();
  app.add_option("-m,--streams", o.streams, "requests in flight on one connection")
      ->capture_default_str();
  app.add_option("-t,--duration", a.duration, "seconds measured, after the warm-up")
      ->check(CLI::Range(0.01, 86400.0))
      ->capture_default_str();
  app.add_option("--warm-up", a.warm_up, "seconds")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  app.add_option("--groups", o.groups, "key exchange groups, as OpenSSL lists them")
      ->capture_default_str();
  app.add_option("--sigalgs", o.sigalgs, "signature schemes: which certificate the server shows");
  app.add_option("--cert", o.certificate_file, "client certificate chain, PEM");
  app.add_option("--key", o.key_file, "its key, PEM");
  app.add_option("--ca", o.ca_file, "verify the server against this file (default: not at all)");
  app.add_option("--sni", o.sni, "server name, when not the URL's");
  app.add_option("--connect", o.connect, "ADDRESS:PORT, when not the URL's");
  app.add_option("-X,--method", o.method)->capture_default_str();
  app.add_option("-H,--header", a.headers, "'name: value', repeatable");
  app.add_option("--expect-status", o.expect_status)->capture_default_str();
  app.add_option("--timeout", a.timeout, "seconds for a request or a handshake")
      ->check(CLI::Range(0.01, 600.0))
      ->capture_default_str();
  app.add_flag("--progress", o.progress, "a line a second on standard error");
  declare_output(app, a.output);
}

Result<void> finish(const CLI::App& app, Arguments& a) {
  load::Options& o = a.options;
  o.protocol = a.protocol == "h1"   ? load::Protocol::kHttp1
               : a.protocol == "h2" ? load::Protocol::kHttp2
                                    : load::Protocol::kHttp3;
  if (auto url = load::set_url(o, a.url); !url) return url;
  if (a.connection_rate > 0) {
    o.rate = a.connection_rate;
    o.handshake_each = true;
    // Enough for a second of latency; more connections than that wait, and their time counts.
    if (app.count("--connections") == 0) {
      o.connections = static_cast<size_t>(std::clamp(a.connection_rate, 8.0, 1000.0));
    }
  }
  if (o.rate == 0 && !a.closed) {
    return fail("say how much load: --rate, --connection-rate or --closed");
  }
  if (a.resumption > 0 && a.connection_rate == 0) {
    return fail("--resumption needs --connection-rate: a standing connection shakes hands once");
  }
  o.resume = a.resumption > 0;
  o.resumption = a.resumption;
  o.duration = from_seconds(a.duration);
  o.warm_up = from_seconds(a.warm_up);
  o.timeout = from_seconds(a.timeout);
  for (const std::string& text : a.headers) {
    const size_t colon = text.find(':', 1);
    if (colon == std::string::npos) return fail("--header {}: not 'name: value'", text);
    o.headers.emplace_back(text.substr(0, colon),
                           trim_ows(std::string_view(text).substr(colon + 1)));
  }
  std::ranges::replace(o.groups, ',', ':');
  return load::validate(o);
}

std::string text_of(const load::Options& options, const load::RunResult& result) {
  std::string text = load::to_text(options, result);
  if (options.rate > 0) {
    text += std::format(
        "open loop: latencies count from appointed times; at most {} requests waited for a "
        "connection\n",
        result.backlog);
  } else {
    text += "closed loop: a stall delays the requests behind it, and latencies do not show that\n";
  }
  return text;
}

}  // namespace

// Exit status: 0 all answered as expected, 1 some were not or it could not start, 2 wrong usage.
int run_load(int argc, char** argv) {
  CLI::App app{"HTTP load at appointed times over TLS 1.3 with chosen groups", "pqcost load"};
  Arguments a;
  declare(app, a);
  bool go_on = false;
  if (const int status = parse(app, argc, argv, go_on); !go_on) return status;
  if (const auto finished = finish(app, a); !finished) {
    complain("load", finished.error().message);
    return kUsageError;
  }
  const auto result = load::run(a.options);
  if (!result) return complain("load", result.error().message);
  measure::Record record = begin_record(argc, argv, "");
  record.complete = result->window >= a.duration * 0.99;  // SIGINT ends it early
  record.loads.push_back(load::to_record(a.options, *result));
  if (auto written = put_out(record, text_of(a.options, *result), a.output); !written) {
    return complain("load", written.error().message);
  }
  const measure::LoadRecord& said = record.loads.front();
  if (said.failed > 0) {
    return complain("load",
                    std::format("{} failed; the first: {}", said.failed, said.first_failure));
  }
  if (said.requests == 0) return complain("load", "nothing was answered in the window");
  return kSuccess;
}

}  // namespace pqedge::pqcost
