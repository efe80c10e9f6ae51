#include "measure/report/page.h"

#include <gtest/gtest.h>

#include <format>
#include <nlohmann/json.hpp>

#include "measure/report/chart_data.h"
#include "measure/report/finding.h"
#include "measure/report/page_files.h"
#include "measure/report/sections.h"

namespace pqedge::measure::report {
namespace {

constexpr std::string_view kHostile = "</script><script>alert(1)</script>{{data}}";

Summary summary(double median) {
  Summary s;
  s.iterations = 1000;
  s.mean_us = s.median_us = median;
  s.p95_us = s.p99_us.emplace(median * 1.1);
  s.min_us = median * 0.9;
  s.max_us = median * 2;
  s.tail = 2;
  s.ops_per_second = 1e6 / median;
  return s;
}

SuiteRecord suite(std::string name, double median, bool baseline = false) {
  SuiteRecord s;
  s.name = std::move(name);
  s.provider = "OpenSSL";
  s.provider_version = "3.5.9";
  s.code = "portable C";
  s.baseline = baseline;
  s.composed = summary(median);
  s.phases.push_back({"KEM keygen", "client", 1, summary(median), {}});
  s.wire_bytes = {1216, 1120};
  if (!baseline) s.against_baseline = Ratio{median / 100, {median / 101, median / 99}};
  return s;
}

// A run of the TLS track, `day` of November.
HistoryEntry run(int day, double median = 200) {
  HistoryEntry entry;
  entry.path = std::format("/somewhere/{}.json", day);
  Record& record = entry.record;
  record.id = std::format("{:032x}", day);
  record.environment.date = std::format("2026-11-{:02}T10:00:00Z", day);
  record.environment.commit = std::format("abcdef{:06}", day);
  record.environment.host.id = "a";
  record.environment.host.name = "edge";
  TrackRecord track;
  track.name = "tls";
  track.suites = {suite("X25519", 100, true), suite("X25519MLKEM768", median)};
  record.tracks.push_back(track);
  return entry;
}

std::string section_html(const Model& model, std::string_view track = "tls") {
  const auto section = track_section({model, model.hosts().front(), 1}, track);
  return section ? section->html : std::string();
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(ReportModel, ANewerWithheldRunIsPassedOverAndNamed) {
  History history;
  history.entries = {run(1), run(2)};
  history.entries[1].record.withheld = Withheld{"steal of 7 %"};
  const Model model(history);
  const Shown shown = shown_run(model.hosts().front(), [](const Record&) { return true; });
  ASSERT_NE(shown.run, nullptr);
  EXPECT_EQ(shown.run->record->environment.date, "2026-11-01T10:00:00Z");
  ASSERT_NE(shown.newer_withheld, nullptr);
  EXPECT_TRUE(has(section_html(model), "withheld: steal of 7 %"));
}

TEST(ReportModel, FewerThanSevenRunsAreADatedRunAndSevenARange) {
  History history;
  for (int day = 1; day <= 6; ++day) history.entries.push_back(run(day, 190 + day));
  {
    const Model model(history);
    const std::string html = section_html(model);
    EXPECT_TRUE(has(html, "one run, 2026-11-06 (of 6; 7 make a range)")) << html;
    EXPECT_FALSE(has(html, "median of"));
  }
  history.entries.push_back(run(7, 150));
  const Model model(history);
  const std::string html = section_html(model);
  EXPECT_TRUE(has(html, "median of 7 runs, 1.50\u00d7 to 1.96\u00d7")) << html;
}

TEST(ReportModel, RunsOfOtherCodeAreNotOneRange) {
  History history;
  for (int day = 1; day <= 7; ++day) history.entries.push_back(run(day));
  for (SuiteRecord& s : history.entries[0].record.tracks[0].suites) s.code = "AVX2";
  const Model model(history);
  EXPECT_FALSE(has(section_html(model), "median of"));
}

TEST(ReportSections, EachRowIsMeasuredWithheldOrAbsent) {
  History history;
  history.entries = {run(1)};
  auto& suites = history.entries[0].record.tracks[0].suites;
  suites.push_back(suite("MLKEM768", 90));
  suites.back().withheld = Withheld{"spread of 31 %"};
  SuiteRecord absent;
  absent.name = "SecP384r1MLKEM1024";
  absent.absent = "no library offers it";
  suites.push_back(absent);
  const Model model(history);
  const std::string html = section_html(model);
  EXPECT_TRUE(has(html, "<tbody class=\"baseline\">"));
  EXPECT_TRUE(has(html, "<tbody class=\"measured\">"));
  EXPECT_TRUE(has(html,
                  "<span class=\"badge withheld\">withheld</span> MLKEM768 "
                  "<small>spread of 31 %"));
  EXPECT_TRUE(has(html, "<span class=\"badge absent\">absent</span> no library offers it"));
}

TEST(ReportSections, NoFindingComesFromAWithheldRun) {
  History history;
  history.entries = {run(1)};
  {
    const Model model(history);
    EXPECT_EQ(findings_of(model, model.hosts().front()).size(), 2u);
  }
  history.entries[0].record.withheld = Withheld{"load"};
  const Model model(history);
  EXPECT_TRUE(findings_of(model, model.hosts().front()).empty());
}

TEST(ReportChartData, IsJsonThatCannotLeaveItsElement) {
  History history;
  history.entries = {run(1)};
  history.entries[0].record.environment.host.name = std::string(kHostile) + "\xFF\u2028";
  history.entries[0].record.tracks[0].suites[1].code = kHostile;
  const Model model(history);
  const std::string text = chart_data(model);
  EXPECT_EQ(text.find_first_of("<>&"), std::string::npos);
  for (const char c : text) EXPECT_LT(static_cast<unsigned char>(c), 0x80);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["hosts"][0]["tracks"]["tls"]["suites"][1]["code"], kHostile);
  EXPECT_EQ(json["hosts"][0]["tracks"]["tls"]["suites"][1]["composed"]["mean"], 200.0);
}

TEST(ReportChartData, SamplesAreThinnedAndKeepTheirExtremes) {
  History history;
  history.entries = {run(1)};
  PhaseRecord& phase = history.entries[0].record.tracks[0].suites[0].phases[0];
  for (int i = 5000; i > 0; --i) phase.samples_us.push_back(i);
  const Model model(history);
  const auto json = nlohmann::json::parse(chart_data(model));
  const auto& tail = json["hosts"][0]["tracks"]["tls"]["suites"][0]["phases"][0]["tail"];
  EXPECT_LE(tail.size(), kMostSamples);
  EXPECT_GT(tail.size(), kMostSamples / 2);
  EXPECT_EQ(tail.front()[0], 1.0);
  EXPECT_EQ(tail.front()[1], 1.0);
  EXPECT_EQ(tail.back()[0], 5000.0);
  EXPECT_EQ(tail.back()[1], 1.0 / 5000);
}

TEST(ReportPage, PolicyNamesEveryScriptAndNothingElse) {
  // The example of CSP 3.
  EXPECT_EQ(csp_hash("alert('Hello, world.');").value(),
            "'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='");
  History history;
  history.entries = {run(1)};
  const Model model(history);
  const Result<std::string> page = render_page(model, {.made = std::string(kHostile)});
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_TRUE(has(*page, "content=\"default-src &#39;none&#39;; script-src &#39;sha256-"));
  EXPECT_FALSE(has(*page, "unsafe"));
  EXPECT_FALSE(has(*page, "alert(1)</script>"));
  EXPECT_TRUE(has(*page, "&lt;script&gt;alert(1)&lt;/script&gt;{{data}}"));
  size_t scripts = 0;
  for (size_t at = 0; (at = page->find("<script>", at)) != std::string::npos; ++at) ++scripts;
  EXPECT_EQ(scripts, 8u);
}

TEST(ReportPage, EmbeddedFilesMayStandInTheirElements) {
  for (const std::string_view script : {kD3Js, kPlotJs, kTabsJs, kTablesJs, kChartsJs,
                                        kChartsTracksJs, kChartsBytesJs, kChartsTimeJs}) {
    ASSERT_FALSE(script.empty());
    EXPECT_EQ(script.find("</script"), std::string_view::npos);
    EXPECT_EQ(script.find("<!--"), std::string_view::npos);
  }
  EXPECT_EQ(kStyleCss.find("</style"), std::string_view::npos);
  EXPECT_NE(kD3Licence.find("Mike Bostock"), std::string_view::npos);
  EXPECT_NE(kPlotLicence.find("Observable"), std::string_view::npos);
}

TEST(ReportPage, WithoutRecordsIsAnError) {
  const History history;
  const Model model(history);
  EXPECT_FALSE(render_page(model, {}));
}

}  // namespace
}  // namespace pqedge::measure::report
