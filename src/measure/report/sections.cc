#include "measure/report/sections.h"

#include <format>

#include "measure/report/format.h"

namespace pqedge::measure::report {

std::string HostView::id(std::string_view part) const {
  std::string id = std::format("h{}-", number);
  for (const char c : part) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    id += plain ? c : '-';
  }
  return id;
}

std::string track_tab(std::string_view name) {
  if (name == "tls") return "TLS";
  if (name == "ssh") return "SSH";
  if (name == "ipsec") return "IKEv2";
  if (name == "signatures") return "Signatures";
  if (name == "bulk") return "Bulk";
  return std::string(name);
}

std::string track_title(const TrackRecord& track) {
  return track.title.empty() ? track_tab(track.name) : track.title;
}

void write_source(Html& html, const Shown& shown) {
  const auto link = [&](const Run& run) {
    const Environment& environment = run.record->environment;
    html.element("a", format_date(environment.date) + " \u00b7 " + format_short(environment.commit),
                 {{"href", std::format("#run-{}", run.number)}});
  };
  html.open("p", {{"class", "source"}}).raw("Figures of the run ");
  link(*shown.run);
  if (shown.run->record->withheld) {
    html.raw(" <span class=\"badge withheld\">withheld</span> ")
        .text("No run of this host may be compared. The newest is shown: " +
              shown.run->record->withheld->reason);
  } else if (shown.newer_withheld != nullptr) {
    html.raw(". A newer run, ");
    link(*shown.newer_withheld);
    html.text(", is withheld: " + shown.newer_withheld->record->withheld->reason);
  }
  if (!shown.run->record->complete) html.raw(". It was interrupted: it holds what was measured");
  html.raw(".").close("p").raw("\n");
}

void write_chart(Html& html, const HostView& view, const ChartPlace& chart) {
  html.open("figure", {{"class", "chart"},
                       {"data-chart", std::string(chart.kind)},
                       {"data-host", std::to_string(view.number - 1)},
                       {"data-track", std::string(chart.track)},
                       {"data-table", chart.table_id}});
  html.open("figcaption")
      .element("strong", chart.title)
      .raw(" ")
      .element("span", chart.text)
      .close("figcaption");
  html.raw("<div class=\"plot\"></div>").close("figure").raw("\n");
}

Cell time_cell(double us) { return {.text = format_time(us), .value = us}; }

Cell time_cell(const std::optional<double>& us) {
  if (!us) return {.text = "\u2013"};
  return time_cell(*us);
}

Cell bytes_cell(size_t bytes) {
  return {.text = format_count(bytes), .value = static_cast<double>(bytes)};
}

Cell run_cell(const Run& run) {
  const Environment& environment = run.record->environment;
  return {.text = format_short(environment.commit).empty() ? std::format("run {}", run.number)
                                                           : format_short(environment.commit),
          .value = -static_cast<double>(run.number),
          .note = environment.date.substr(0, 10),
          .run = run.number};
}

Cell change_cell(const Change& change) {
  const auto date = [](const Run* run) {
    return run == nullptr ? std::string() : run->record->environment.date.substr(0, 10);
  };
  switch (change.kind) {
    case Change::Kind::none: return {.text = "\u2013"};
    case Change::Kind::baseline:
      return {.text = format_multiple(1), .value = 1, .badge = "baseline"};
    case Change::Kind::withheld:
      return {.text = "", .badge = "withheld"};  // the row's first cell says why
    case Change::Kind::range: {
      std::string note =
          std::format("median of {} runs, {} to {}", change.range.runs,
                      format_multiple(change.range.low), format_multiple(change.range.high));
      if (!change.reason.empty()) note += "; the run shown is withheld: " + change.reason;
      return {.text = format_multiple(change.range.median),
              .value = change.range.median,
              .note = std::move(note)};
    }
    case Change::Kind::single: break;
  }
  std::string note = "one run, " + date(change.latest_run);
  if (change.runs > 1) {
    note += std::format(" (of {}; {} make a range)", change.runs, Range::kLeastRuns);
  }
  if (change.latest.ci95.first > 0) {
    note += std::format(", {} to {}", format_multiple(change.latest.ci95.first),
                        format_multiple(change.latest.ci95.second));
    if (!change.latest.excludes_one()) note += ": cannot be told from 1";
  }
  return {.text = format_multiple(change.latest.value),
          .value = change.latest.value,
          .note = std::move(note),
          .run = change.latest_run == nullptr ? std::nullopt
                                              : std::optional(change.latest_run->number)};
}

std::vector<Section> sections_of(const HostView& view) {
  std::vector<Section> sections;
  const auto take = [&](std::optional<Section> section) {
    if (section) sections.push_back(std::move(*section));
  };
  for (const std::string& track : track_names(view.host)) take(track_section(view, track));
  take(chain_section(view));
  take(flight_section(view));
  take(token_section(view));
  take(limit_section(view));
  take(live_section(view));
  take(history_section(view));
  take(check_section(view));
  sections.push_back(run_section(view));
  return sections;
}

}  // namespace pqedge::measure::report
