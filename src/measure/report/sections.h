// The parts of the page for one host, as HTML that needs no script: each is a tab where there is
// one, and a section of its own where there is none.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/report/html.h"
#include "measure/report/model.h"

namespace pqedge::measure::report {

// So that many records do not make a page that no browser opens. What is left out is said there.
inline constexpr size_t kMostHistoryPoints = 200;  // the newest, of each line
inline constexpr size_t kMostHistoryRows = 600;    // of the table of all lines, newest first
inline constexpr size_t kMostHandshakes = 200;
inline constexpr size_t kMostRuns = 400;
inline constexpr size_t kMostSamples = 160;  // quantiles of a phase, its extremes among them

struct Section {
  std::string id;     // of its panel: "h1-tls"
  std::string title;  // of its tab
  std::string html;
};

struct HostView {
  const Model& model;
  const Host& host;
  size_t number;                                // from 1, in the order of the page
  std::string id(std::string_view part) const;  // "h1-" + part, letters, digits and '-' only
};

// None where no run of the host has such data.
std::optional<Section> track_section(const HostView& view, std::string_view track);
std::optional<Section> chain_section(const HostView& view);
std::optional<Section> flight_section(const HostView& view);
std::optional<Section> token_section(const HostView& view);
std::optional<Section> limit_section(const HostView& view);
std::optional<Section> live_section(const HostView& view);
std::optional<Section> history_section(const HostView& view);
std::optional<Section> check_section(const HostView& view);
Section run_section(const HostView& view);

std::vector<Section> sections_of(const HostView& view);  // all of them, in the page's order

// ---- shared by them -----------------------------------------------------------------------------

// "TLS 1.3 key exchange" for "tls", and so on; others as their record calls them.
std::string track_title(const TrackRecord& track);
std::string track_tab(std::string_view name);

// Which run the section shows, and whether a newer one was passed over.
void write_source(Html& html, const Shown& shown);

// The place of a chart; charts.js draws it from the page's data. The text says in words what the
// chart shows; its figures are in the table `table_id`.
struct ChartPlace {
  std::string_view kind;
  std::string_view track = {};
  std::string title;
  std::string text;
  std::string table_id;
};
void write_chart(Html& html, const HostView& view, const ChartPlace& chart);

Cell time_cell(double us);
Cell time_cell(const std::optional<double>& us);
Cell bytes_cell(size_t bytes);
Cell run_cell(const Run& run);
Cell change_cell(const Change& change);

// Everything of one suite: its phases with weights, sides and totals, sizes and encodings.
std::string suite_detail(const SuiteRecord& suite, bool exchange);

}  // namespace pqedge::measure::report
