#include <array>
#include <format>

#include "measure/report/format.h"
#include "measure/report/sections.h"

namespace pqedge::measure::report {

namespace {

constexpr std::string_view kNoFigure = "\u2013";

void number(Html& html, std::string_view text) { html.element("td", text, {{"class", "n"}}); }

void write_figures(Html& html, const Summary& figures) {
  number(html, format_time(figures.median_us));
  number(html, format_time(figures.p95_us));
  number(html, figures.p99_us ? format_time(*figures.p99_us) : std::string(kNoFigure));
  number(html, format_time(figures.stdev_us));
  number(html, format_time(figures.min_us));
  number(html, format_time(figures.max_us));
  number(html, format_count(figures.iterations));
}

void write_head(Html& html, bool exchange) {
  html.open("thead").open("tr");
  const auto head = [&](std::string_view title, bool numeric = true) {
    html.element("th", title, {{"scope", "col"}, {"class", numeric ? "n" : ""}});
  };
  head(exchange ? "Phase" : "Operation", false);
  head("Side", false);
  if (exchange) head("Weight");
  head("Mean");
  head("\u00b1 95\u00a0%");
  if (exchange) {
    head("Weighted");
    head("Share");
  }
  for (const std::string_view title : {"Median", "p95", "p99", "Stdev", "Min", "Max", "Count"}) {
    head(title);
  }
  html.close("tr").close("thead");
}

void write_phase(Html& html, const PhaseRecord& phase, const SuiteRecord& suite, bool exchange) {
  html.open("tr").element("th", phase.name, {{"scope", "row"}});
  html.element("td", phase.side);
  if (exchange) number(html, std::format("\u00d7{}", phase.weight));
  number(html, format_time(phase.figures.mean_us));
  number(html, format_time(phase.figures.mean_ci95_us));
  if (exchange) {
    const double weighted = phase.weight * phase.figures.mean_us;
    number(html, format_time(weighted));
    number(html, suite.composed && suite.composed->mean_us > 0
                     ? format_percent(100 * weighted / suite.composed->mean_us)
                     : std::string(kNoFigure));
  }
  write_figures(html, phase.figures);
  html.close("tr");
}

void write_total(Html& html, std::string_view name, std::string_view side,
                 const std::optional<Summary>& figures, const SuiteRecord& suite) {
  if (!figures) return;
  html.open("tr", {{"class", "total"}}).element("th", name, {{"scope", "row"}});
  html.element("td", side);
  number(html, "");
  number(html, format_time(figures->mean_us));
  number(html, format_time(figures->mean_ci95_us));
  number(html, format_time(figures->mean_us));
  number(html, suite.composed && suite.composed->mean_us > 0
                   ? format_percent(100 * figures->mean_us / suite.composed->mean_us)
                   : std::string(kNoFigure));
  write_figures(html, *figures);
  html.close("tr");
}

void write_phases(Html& html, const SuiteRecord& suite, bool exchange) {
  if (suite.phases.empty()) return;
  html.open("table", {{"class", "phases"}});
  html.element("caption", exchange ? "Phases of " + suite_label(suite) +
                                         ": each in its own loop, weighted, and their sum"
                                   : "Operations of " + suite_label(suite));
  write_head(html, exchange);
  html.open("tbody");
  for (const PhaseRecord& phase : suite.phases) write_phase(html, phase, suite, exchange);
  if (exchange) {
    write_total(html, "Composed total", "both", suite.composed, suite);
    write_total(html, "of it the client", "client", suite.client, suite);
    write_total(html, "of it the server", "server", suite.server, suite);
    write_total(html, "End to end, one loop", "both", suite.end_to_end, suite);
  }
  html.close("tbody").close("table");
}

void write_wire(Html& html, const SuiteRecord& suite) {
  if (suite.wire_bytes.total() == 0 && suite.wire_details.empty()) return;
  html.open("table", {{"class", "wire"}});
  html.element("caption", "Bytes of " + suite.name + " on the wire");
  html.raw(
      "<thead><tr><th scope=\"col\">What</th><th scope=\"col\" class=\"n\">To the server</th>"
      "<th scope=\"col\" class=\"n\">To the client</th><th scope=\"col\" class=\"n\">Sum</th>"
      "<th scope=\"col\" class=\"n\">Fragments</th><th scope=\"col\">Source</th></tr></thead>"
      "<tbody>");
  const auto row = [&](std::string_view name, const WireBytes& bytes,
                       const std::optional<unsigned>& fragments, std::string_view source) {
    html.open("tr").element("th", name, {{"scope", "row"}});
    number(html, format_count(bytes.client_to_server));
    number(html, format_count(bytes.server_to_client));
    number(html, format_count(bytes.total()));
    number(html, fragments ? std::to_string(*fragments) : std::string(kNoFigure));
    html.element("td", source).close("tr");
  };
  if (suite.wire_bytes.total() > 0) row("Public values", suite.wire_bytes, std::nullopt, "");
  for (const WireDetail& detail : suite.wire_details) {
    row(detail.name, detail.bytes, detail.fragments, detail.source);
  }
  html.raw("</tbody>").close("table");
}

void write_facts(Html& html, const SuiteRecord& suite) {
  html.open("dl", {{"class", "facts"}});
  const auto fact = [&](std::string_view name, std::string_view value) {
    if (value.empty()) return;
    html.open("div").element("dt", name).element("dd", value).close("div");
  };
  fact("Library", suite.provider + " " + suite.provider_version);
  fact("Code that ran", suite.code);
  fact("Keys while timed", suite.keys);
  fact("Family", suite.family);
  if (suite.code_point)
    fact("Code point", std::format("0x{:04x} ({})", *suite.code_point, *suite.code_point));
  for (const auto& [name, bytes] : suite.sizes) {
    std::string title = name;
    for (char& c : title) {
      if (c == '_') c = ' ';
    }
    fact(title, format_bytes(bytes));
  }
  if (suite.end_to_end_ratio) {
    fact("End to end over composed", format_multiple(*suite.end_to_end_ratio));
  }
  fact("Note", suite.note);
  html.close("dl");
}

}  // namespace

std::string suite_detail(const SuiteRecord& suite, bool exchange) {
  Html html;
  write_facts(html, suite);
  write_phases(html, suite, exchange);
  write_wire(html, suite);
  return html.take();
}

}  // namespace pqedge::measure::report
