// pqload: the load generator's command line.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "measure/load/options.h"
#include "measure/load/report.h"
#include "measure/load/run.h"

namespace {

namespace load = pqedge::measure::load;
using pqedge::Nanos;

Nanos from_seconds(double seconds) {
  return static_cast<Nanos>(seconds * static_cast<double>(pqedge::kSecond));
}

// "name=PID,PID,..."
pqedge::Result<load::WatchedGroup> parse_watch(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) return pqedge::fail("--watch {}: not NAME=PID,...", text);
  load::WatchedGroup group{.name = text.substr(0, equals), .processes = {}};
  bool numbers = true;
  pqedge::for_each_member(text.substr(equals + 1), [&](std::string_view member) {
    const auto process = pqedge::parse_decimal(member);
    numbers &= process.has_value();
    group.processes.push_back(static_cast<pid_t>(process.value_or(0)));
  });
  if (!numbers) return pqedge::fail("--watch {}: not NAME=PID,...", text);
  return group;
}

pqedge::Result<std::pair<std::string, std::string>> parse_header(const std::string& text) {
  const size_t colon = text.find(':', 1);
  if (colon == std::string::npos) return pqedge::fail("--header {}: not 'name: value'", text);
  return std::pair(text.substr(0, colon),
                   std::string(pqedge::trim_ows(std::string_view(text).substr(colon + 1))));
}

struct Arguments {
  load::Options options;
  std::string url;
  std::string protocol = "h2";
  std::string sha256;
  std::string json;
  std::vector<std::string> headers;
  std::vector<std::string> watch;
  double duration = 10;
  double warm_up = 1;
  double timeout = 10;
  uint64_t expect_size = 0;
};

void declare(CLI::App& app, Arguments& a) {
  load::Options& o = a.options;
  app.add_option("url", a.url, "https://host[:port][/path], or http:// for HTTP/1.1")->required();
  app.add_option("-p,--protocol", a.protocol, "h1, h2 or h3")
      ->check(CLI::IsMember({"h1", "h2", "h3"}))
      ->capture_default_str();
  app.add_option("-c,--connections", o.connections)->capture_default_str();
  app.add_option("-m,--streams", o.streams, "requests in flight on one connection")
      ->capture_default_str();
  app.add_option("-t,--duration", a.duration, "seconds measured, after the warm-up")
      ->capture_default_str();
  app.add_option("--warm-up", a.warm_up, "seconds")->capture_default_str();
  app.add_option("-n,--requests", o.requests,
                 "stop after so many; without --duration and --warm-up no other end or beginning");
  app.add_option("-r,--rate", o.rate, "open loop: requests a second, answered or not");
  app.add_flag("--poisson", o.poisson, "with --rate: exponential gaps");
  app.add_flag("--handshake-each", o.handshake_each, "a new connection for each request");
  app.add_flag("--resume", o.resume, "with --handshake-each: resume by ticket");

  app.add_option("--groups", o.groups, "key exchange groups, as OpenSSL lists them")
      ->capture_default_str();
  app.add_option("--ciphers", o.ciphers, "TLS 1.3 cipher suites")->capture_default_str();
  app.add_option("--ca", o.ca_file, "verify the server against this file (default: not at all)");
  app.add_option("--sni", o.sni, "server name, when not the URL's");
  app.add_option("--connect", o.connect, "ADDRESS:PORT, when not the URL's");
  app.add_option("--local", o.local, "local IP address; several are used in turn");

  app.add_option("-X,--method", o.method)->capture_default_str();
  app.add_option("-H,--header", a.headers, "'name: value', repeatable");
  app.add_option("--upload", o.upload_size, "bytes of a request body");
  app.add_option("--expect-status", o.expect_status)->capture_default_str();
  app.add_option("--expect-size", a.expect_size, "bytes of each answer's body");
  app.add_option("--expect-sha256", a.sha256, "of each answer's body, hexadecimal");

  app.add_option("--timeout", a.timeout, "seconds for a request or a handshake")
      ->capture_default_str();
  app.add_flag("!--no-gso", o.gso, "HTTP/3: one datagram a system call");
  app.add_flag("!--no-gro", o.gro, "HTTP/3: do not let the kernel join datagrams");
  app.add_option("--udp-payload", o.udp_payload, "HTTP/3: largest datagram, both ways")
      ->capture_default_str();

  app.add_option("--watch", a.watch, "NAME=PID,...: report the CPU of these processes, repeatable");
  app.add_option("--json", a.json, "write the result to this file, - for standard output");
  app.add_flag("--progress", o.progress, "a line a second on standard error");
}

// What CLI11 does not check by itself.
pqedge::Result<void> finish(const CLI::App& app, Arguments& a) {
  load::Options& o = a.options;
  o.protocol = a.protocol == "h1"   ? load::Protocol::kHttp1
               : a.protocol == "h2" ? load::Protocol::kHttp2
                                    : load::Protocol::kHttp3;
  if (auto url = load::set_url(o, a.url); !url) return url;
  const bool counted = o.requests > 0;
  o.duration = counted && app.count("--duration") == 0 ? pqedge::kNever : from_seconds(a.duration);
  o.warm_up = counted && app.count("--warm-up") == 0 ? 0 : from_seconds(a.warm_up);
  o.timeout = from_seconds(a.timeout);
  if (app.count("--expect-size") > 0) o.expect_size = a.expect_size;
  if (!a.sha256.empty()) {
    const auto digest = pqedge::from_hex(a.sha256);
    if (!digest || digest->size() != 32) {
      return pqedge::fail("--expect-sha256: not 64 hexadecimal digits");
    }
    std::ranges::copy(*digest, o.expect_sha256.emplace().begin());
  }
  for (const std::string& text : a.headers) {
    auto header = parse_header(text);
    if (!header) return std::unexpected(header.error());
    o.headers.push_back(std::move(*header));
  }
  for (const std::string& text : a.watch) {
    auto group = parse_watch(text);
    if (!group) return std::unexpected(group.error());
    o.watch.push_back(std::move(*group));
  }
  return load::validate(o);
}

}  // namespace

// Exit status: 0 all answered as expected, 1 some were not, 2 wrong usage, 3 could not start.
int main(int argc, char** argv) {
  CLI::App app{"pqload: HTTP/1.1, HTTP/2 and HTTP/3 load over TLS 1.3 with chosen groups"};
  Arguments arguments;
  declare(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (const auto finished = finish(app, arguments); !finished) {
    std::fprintf(stderr, "pqload: %s\n", finished.error().message.c_str());
    return 2;
  }
  const auto result = load::run(arguments.options);
  if (!result) {
    std::fprintf(stderr, "pqload: %s\n", result.error().message.c_str());
    return 3;
  }
  if (arguments.json.empty()) {
    std::fputs(load::to_text(arguments.options, *result).c_str(), stdout);
  } else {
    const std::string json = load::to_json(arguments.options, *result) + "\n";
    if (arguments.json == "-") {
      std::fputs(json.c_str(), stdout);
    } else if (!(std::ofstream(arguments.json) << json)) {
      std::fprintf(stderr, "pqload: cannot write %s\n", arguments.json.c_str());
      return 3;
    }
  }
  return result->tally.failures() == 0 && result->tally.completed_ever() > 0 ? 0 : 1;
}
