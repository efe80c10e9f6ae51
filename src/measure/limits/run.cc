#include <algorithm>
#include <format>

#include "base/problem.h"
#include "crypto/certificates.h"
#include "measure/limits/limits.h"
#include "measure/limits/probes.h"
#include "measure/limits/servers.h"
#include "measure/limits/sink.h"
#include "measure/token/documented_limits.h"

namespace pqedge::measure {
namespace {

constexpr size_t kLeastSearched = 64;
// Beyond this nothing is looked for. HTTP/2's is lower: nghttp2, in the client, sends no field
// section above 64 KiB.
constexpr size_t kMostSearched = size_t{256} << 10;
constexpr size_t kMostSearchedHttp2 = 60'000;

struct Documented {
  std::string limit;
  std::string source;
};

// The limit of a program for fields or for targets: its own, or that of the whole head.
Documented documented_for(std::string_view program, ProbePlace place) {
  const DocumentedLimit* found = nullptr;
  for (const DocumentedLimit& limit : documented_limits()) {
    if (!limit.name.starts_with(program)) continue;
    const bool of_target =
        limit.counted == Counted::request_line || limit.counted == Counted::target;
    const bool of_all =
        limit.counted == Counted::whole_head || limit.counted == Counted::names_values;
    if (of_all || of_target == (place == ProbePlace::target)) found = &limit;
  }
  if (found == nullptr) return {};
  return {
      std::format("{} bytes ({}): {}", found->bytes, counted_text(found->counted), found->answer),
      std::string(found->source)};
}

struct Run {
  const LimitsOptions& options;
  const std::vector<Probe>& probes;
  Record& record;

  bool cancelled() const { return options.cancelled && options.cancelled(); }

  LimitRecord line(const RunningServer& server, HttpVersion version, ProbePlace place) const {
    const Documented documented = documented_for(server.software, place);
    return {.software = server.software,
            .version = server.version,
            .http_version = http_version_name(version),
            .documented_limit = documented.limit,
            .source = documented.source};
  }

  void absent(std::string_view program, std::string_view what, const std::string& reason) const {
    record.absent.push_back({std::string(program), std::string(what), reason});
  }

  // False: cancelled.
  bool ask_all(const RunningServer& server, HttpVersion version) const {
    const uint16_t port = version == HttpVersion::http1 ? server.plain_port : server.secure_port;
    for (const Probe& probe : probes) {
      if (cancelled()) return false;
      const auto answer = ask(port, version, probe.request);
      if (!answer) {
        absent(server.software, http_version_name(version), answer.error().message);
        return true;
      }
      LimitRecord made = line(server, version, probe.place);
      made.what = probe.what;
      made.bytes = probe.bytes;
      made.outcome = answer->outcome;
      record.limits.push_back(std::move(made));
    }
    if (!options.search_largest) return true;
    for (const ProbePlace place : {ProbePlace::field, ProbePlace::target}) {
      if (cancelled()) return false;
      search(server, version, port, place);
    }
    return true;
  }

  void search(const RunningServer& server, HttpVersion version, uint16_t port,
              ProbePlace place) const {
    const size_t most = version == HttpVersion::http2 ? kMostSearchedHttp2 : kMostSearched;
    const char* what = place == ProbePlace::field ? "largest bearer token taken"
                                                  : "largest token taken in the query";
    const auto largest = find_largest(port, version, place, kLeastSearched, most);
    if (!largest) return absent(server.software, what, largest.error().message);
    LimitRecord made = line(server, version, place);
    made.what = what;
    made.bytes = largest->accepted;
    made.outcome = largest->bounded ? std::format("200; one byte more: {}", largest->beyond)
                                    : "200; nothing larger was asked";
    record.limits.push_back(std::move(made));
  }
};

Result<void> check_names(const LimitsOptions& options) {
  const auto known = limit_programs();
  const auto check = [&](const std::string& name) -> Result<void> {
    if (std::ranges::find(known, name) != known.end()) return {};
    const std::string hint = did_you_mean(name, known);
    return fail("unknown program '{}'{}{}", name, hint.empty() ? "" : ": ", hint);
  };
  for (const std::string& name : options.programs) {
    if (auto good = check(name); !good) return good;
  }
  for (const auto& [name, path] : options.paths) {
    if (auto good = check(name); !good) return good;
  }
  return {};
}

bool wanted(const LimitsOptions& options, std::string_view program) {
  return options.programs.empty() ||
         std::ranges::find(options.programs, program) != options.programs.end();
}

}  // namespace

Result<void> run_limits(const LimitsOptions& options, Record& record) {
  if (auto good = check_names(options); !good) return good;
  const auto sink = Sink::start();
  if (!sink) return std::unexpected(sink.error());
  const auto pair = crypto::make_self_signed({"localhost", "127.0.0.1"}, 7);
  if (!pair) return std::unexpected(pair.error());
  const auto probes = make_probes();
  if (!probes) return std::unexpected(probes.error());
  const Run run{options, *probes, record};
  for (const std::string_view program : limit_programs()) {
    if (!wanted(options, program)) continue;
    const auto workspace = Workspace::make();  // of its own: no program meets another's files
    if (!workspace) return std::unexpected(workspace.error());
    const auto certificate = workspace->write("cert.pem", pair->chain);
    const auto key = workspace->write("key.pem", pair->key);
    const auto both = workspace->write("both.pem", pair->chain + pair->key);
    for (const auto* file : {&certificate, &key, &both}) {
      if (!*file) return std::unexpected(file->error());
    }
    const auto path = options.paths.find(std::string(program));
    const auto server =
        start_server(program, path == options.paths.end() ? std::string() : path->second,
                     {*workspace, *certificate, *key, *both, (*sink)->address()});
    if (!server) {
      run.absent(program, "", server.error().message);
      continue;
    }
    if (!server->has_value()) {
      run.absent(program, "", std::format("not installed ({})", binaries_of(program)));
      continue;
    }
    for (const HttpVersion version : {HttpVersion::http1, HttpVersion::http2, HttpVersion::http3}) {
      if (version == HttpVersion::http3 && !(*server)->http3) continue;
      if (!client_speaks(version)) {
        run.absent(program, http_version_name(version), "this libcurl does not speak it");
        continue;
      }
      if (options.progress) options.progress(program, http_version_name(version));
      if (!run.ask_all(**server, version)) {
        record.complete = false;
        return {};
      }
    }
  }
  return {};
}

}  // namespace pqedge::measure
