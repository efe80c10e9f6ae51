#include "measure/report/finding.h"

#include <algorithm>
#include <array>
#include <format>
#include <optional>

#include "measure/report/format.h"
#include "measure/report/html.h"

namespace pqedge::measure::report {

namespace {

// What most deployments compare: the first of these that the run measured.
constexpr std::array<std::string_view, 2> kGroups = {"X25519MLKEM768", "MLKEM768"};
constexpr std::array<std::string_view, 2> kSignatures = {"ML-DSA-65", "ML-DSA-44"};

bool measured(const Record& record, const SuiteRecord& suite) {
  return suite.absent.empty() && suite.composed && withheld_reason(record, suite).empty();
}

const SuiteRecord* baseline_of(const Record& record, const TrackRecord& track,
                               const SuiteRecord& suite) {
  for (const SuiteRecord& other : track.suites) {
    if (other.baseline && other.provider == suite.provider && measured(record, other)) {
      return &other;
    }
  }
  return nullptr;
}

struct Pair {
  const SuiteRecord* suite = nullptr;
  const SuiteRecord* baseline = nullptr;
};

std::optional<Pair> key_exchange(const Record& record, const TrackRecord& track) {
  for (const std::string_view group : kGroups) {
    for (const SuiteRecord& suite : track.suites) {
      if (suite.name != group || !measured(record, suite)) continue;
      const SuiteRecord* baseline = baseline_of(record, track, suite);
      if (baseline != nullptr) return Pair{&suite, baseline};
    }
  }
  return std::nullopt;
}

std::string code_of(const SuiteRecord& suite) {
  return suite.provider + " " + suite.provider_version +
         (suite.code.empty() ? "" : " (" + suite.code + ")");
}

void add_key_exchange(std::vector<Finding>& findings, const Model& model, const Host& host) {
  const Shown shown =
      shown_run(host, [](const Record& record) { return find_track(record, "tls") != nullptr; });
  if (shown.run == nullptr) return;
  const TrackRecord& track = *find_track(*shown.run->record, "tls");
  const std::optional<Pair> pair = key_exchange(*shown.run->record, track);
  if (!pair) return;
  const SuiteRecord& suite = *pair->suite;
  const Change change = change_of(model, host, "tls", suite, *shown.run);
  const bool range = change.kind == Change::Kind::range;
  if (range || change.kind == Change::Kind::single) {
    std::string basis =
        std::format("{} against {}, {}; ", format_time(suite.composed->median_us),
                    format_time(pair->baseline->composed->median_us), code_of(suite));
    basis +=
        range ? std::format("median of {} runs, {} to {}", change.range.runs,
                            format_multiple(change.range.low), format_multiple(change.range.high))
              : std::string("one dated run");
    findings.push_back(
        {format_multiple(range ? change.range.median : change.latest.value),
         "the processor time of an " + pair->baseline->name + " key exchange, for " + suite.name,
         basis, shown.run->number});
  }
  if (suite.wire_bytes.total() > 0) {
    findings.push_back(
        {format_bytes(suite.wire_bytes.total()),
         "of public values cross the wire for " + suite.name,
         std::format("{} for {}; {} to the server, {} back",
                     format_bytes(pair->baseline->wire_bytes.total()), pair->baseline->name,
                     format_count(suite.wire_bytes.client_to_server),
                     format_count(suite.wire_bytes.server_to_client)),
         shown.run->number});
  }
}

void add_chain(std::vector<Finding>& findings, const Host& host) {
  const Shown shown = shown_run(host, [](const Record& r) { return !r.chains.empty(); });
  if (shown.run == nullptr || shown.run->record->withheld) return;
  for (const std::string_view name : kSignatures) {
    for (const ChainRecord& chain : shown.run->record->chains) {
      if (chain.name != name || !chain.multiple_of_p256) continue;
      findings.push_back({format_multiple(*chain.multiple_of_p256),
                          "the size of an ECDSA P-256 certificate chain, for " + chain.name,
                          std::format("{} of leaf and intermediate, DER",
                                      format_bytes(chain.leaf_der + chain.intermediate_der)),
                          shown.run->number});
      return;
    }
  }
}

void add_flight(std::vector<Finding>& findings, const Host& host) {
  const Shown shown = shown_run(host, [](const Record& r) { return !r.flights.empty(); });
  if (shown.run == nullptr || shown.run->record->withheld) return;
  for (const std::string_view name : kSignatures) {
    for (const FlightRecord& flight : shown.run->record->flights) {
      if (flight.chain != name || flight.transport != "tcp" || flight.group == "X25519") continue;
      const int64_t over =
          static_cast<int64_t>(flight.server_flight) - static_cast<int64_t>(flight.window);
      const std::string trips = flight.extra_round_trips == 1 ? "round trip" : "round trips";
      findings.push_back(
          {flight.fits ? "0" : std::format("+{}", flight.extra_round_trips),
           (flight.fits ? "more round trips over TCP for a first flight with "
                        : trips + " over TCP for a first flight with ") +
               flight.chain,
           std::format("{} captured, {} by {}; window {}", format_bytes(flight.server_flight),
                       flight.fits ? "fits" : "over",
                       format_bytes(static_cast<size_t>(over < 0 ? -over : over)),
                       flight.window_rule),
           shown.run->number});
      return;
    }
  }
}

void add_token(std::vector<Finding>& findings, const Host& host) {
  const Shown shown = shown_run(host, [](const Record& r) { return !r.tokens.empty(); });
  if (shown.run == nullptr || shown.run->record->withheld) return;
  for (const std::string_view name : kSignatures) {
    const auto& tokens = shown.run->record->tokens;
    const auto token = std::ranges::find(tokens, name, &TokenRecord::algorithm);
    if (token == tokens.end()) continue;
    const size_t limits = token->fits_in.size() + token->too_large_for.size();
    findings.push_back(
        {format_multiple(token->multiple_of_es256),
         "the size of an ES256 token, signed with " + token->algorithm,
         std::format("{}; over {} of {} documented limits", format_bytes(token->total),
                     token->too_large_for.size(), limits),
         shown.run->number});
    return;
  }
}

std::string libraries_of(const Record& record) {
  std::string text;
  for (const Library& library : record.environment.libraries) {
    if (!text.empty()) text += ", ";
    text += library.name + " " + library.version;
  }
  return text;
}

void write_provenance(Html& html, const Model& model, const Host& host) {
  const Run& newest = *host.runs.front();
  const Environment& e = newest.record->environment;
  html.open("dl", {{"class", "provenance"}});
  const auto fact = [&](std::string_view name, std::string_view value) {
    if (value.empty()) return;
    html.open("div").element("dt", name).element("dd", value).close("div");
  };
  html.raw("<div><dt>Newest run</dt><dd>")
      .element("a", format_date(e.date), {{"href", std::format("#run-{}", newest.number)}})
      .raw("</dd></div>");
  fact("Host", host.name);
  fact("CPU", e.host.cpu.model);
  fact("Commit", format_short(e.commit));
  fact("Libraries", libraries_of(*newest.record));
  fact("Compiler", e.compiler);
  fact("Records", std::format("{} of {} host{}", model.runs().size(), model.hosts().size(),
                              model.hosts().size() == 1 ? "" : "s"));
  html.close("dl").raw("\n");
}

}  // namespace

std::vector<Finding> findings_of(const Model& model, const Host& host) {
  std::vector<Finding> findings;
  add_key_exchange(findings, model, host);
  add_chain(findings, host);
  add_flight(findings, host);
  add_token(findings, host);
  return findings;
}

std::string head_html(const Model& model, const Host& host) {
  Html html;
  const std::vector<Finding> findings = findings_of(model, host);
  if (findings.empty()) {
    html.element("p",
                 "No run of the newest host allows a finding: see the tabs for what was "
                 "measured, withheld or absent.",
                 {{"class", "lead"}});
  } else {
    html.open("ul", {{"class", "findings"}});
    for (const Finding& finding : findings) {
      html.open("li")
          .open("a", {{"href", std::format("#run-{}", finding.run)}, {"class", "figure"}})
          .text(finding.figure)
          .close("a")
          .raw(" ")
          .element("span", finding.subject, {{"class", "subject"}})
          .raw(" ")
          .element("span", finding.basis, {{"class", "basis"}})
          .close("li");
    }
    html.close("ul").raw("\n");
  }
  write_provenance(html, model, host);
  return html.take();
}

}  // namespace pqedge::measure::report
