#include "measure/record/history.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "measure/record/files.h"
#include "measure/record/history_output.h"
#include "measure/record/json.h"
#include "unit/measure/record_fixture.h"

namespace pqedge::measure {
namespace {

// Run `n` of the host: the hybrid's composed median is 270 + n.
Record run_of_day(int n) {
  Record r = test::small_record();
  r.id = std::format("{:032x}", n + 1);
  r.environment.date = std::format("2026-11-{:02}T10:00:00Z", n + 1);
  r.environment.commit = std::format("c{:011}", n);
  SuiteRecord& hybrid = r.tracks[0].suites[1];
  hybrid.phases[0] = test::phase("KEM keygen", "client", 1, 50 + n);
  hybrid.composed = test::composed_of(hybrid.phases);
  hybrid.against_baseline = Ratio{(270.0 + n) / 140, {1.9, 2.1}};
  return r;
}

class RecordHistory : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/record_history/runs";
    std::filesystem::remove_all(folder_);
  }
  void append(const Record& record) {
    const auto path = append_to_history(folder_, record);
    ASSERT_TRUE(path) << path.error().message;
  }
  History load() {
    auto history = load_history(folder_);
    EXPECT_TRUE(history) << history.error().message;
    return history ? *history : History{};
  }
  static const Series* find(const std::vector<Series>& all, std::string_view suite) {
    const auto it =
        std::ranges::find_if(all, [suite](const Series& s) { return s.key.suite == suite; });
    return it == all.end() ? nullptr : &*it;
  }
  std::string folder_;
};

TEST_F(RecordHistory, KeepsRunsInTheOrderOfTheirDates) {
  append(run_of_day(2));
  append(run_of_day(0));
  append(run_of_day(1));
  const History history = load();
  ASSERT_EQ(history.entries.size(), 3U);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(history.entries[static_cast<size_t>(i)].record.id, run_of_day(i).id);
  }
  EXPECT_TRUE(
      history.entries[0].path.ends_with("20261101T100000Z-aabbccdd-c00000000000-00000000.json"))
      << history.entries[0].path;
}

TEST_F(RecordHistory, SixRunsAreNoRange) {
  for (int n = 0; n < 6; ++n) append(run_of_day(n));
  const auto all = series_of(load());
  const Series* hybrid = find(all, "X25519MLKEM768");
  ASSERT_NE(hybrid, nullptr);
  EXPECT_EQ(hybrid->points.size(), 6U);
  EXPECT_FALSE(hybrid->median_us);
  EXPECT_FALSE(hybrid->ratio_to_baseline);
}

TEST_F(RecordHistory, SevenRunsAre) {
  for (int n = 0; n < 7; ++n) append(run_of_day(n));
  Record noisy = run_of_day(8);
  noisy.withheld = Withheld{"steal"};
  append(noisy);
  const auto all = series_of(load());
  const Series* hybrid = find(all, "X25519MLKEM768");
  ASSERT_NE(hybrid, nullptr);
  ASSERT_EQ(hybrid->points.size(), 8U);
  EXPECT_EQ(hybrid->points.back().withheld, "steal");
  ASSERT_TRUE(hybrid->median_us);
  EXPECT_EQ(hybrid->median_us->runs, 7U) << "the withheld run counts";
  EXPECT_NEAR(hybrid->median_us->low, run_of_day(0).tracks[0].suites[1].composed->median_us, 1e-9);
  EXPECT_NEAR(hybrid->median_us->median, run_of_day(3).tracks[0].suites[1].composed->median_us,
              1e-9);
  EXPECT_NEAR(hybrid->median_us->high, run_of_day(6).tracks[0].suites[1].composed->median_us, 1e-9);
  ASSERT_TRUE(hybrid->ratio_to_baseline);
  EXPECT_NEAR(hybrid->ratio_to_baseline->median, 273.0 / 140, 1e-9);
}

TEST_F(RecordHistory, OtherHostsCodeAndVersionsAreOtherSeries) {
  append(run_of_day(0));
  Record host = run_of_day(1);
  host.environment.host.id = "ffff";
  append(host);
  Record code = run_of_day(2);
  code.tracks[0].suites[1].code = "AVX2";
  append(code);
  Record version = run_of_day(3);
  version.tracks[0].suites[1].provider_version = "3.6.5";
  append(version);
  size_t hybrids = 0;
  for (const Series& s : series_of(load())) hybrids += s.key.suite == "X25519MLKEM768" ? 1 : 0;
  EXPECT_EQ(hybrids, 4U);
}

TEST_F(RecordHistory, ABrokenFileDoesNotHideTheOthers) {
  append(run_of_day(0));
  std::ofstream(folder_ + "/broken.json") << "{";
  std::ofstream(folder_ + "/notes.txt") << "not looked at";
  const History history = load();
  EXPECT_EQ(history.entries.size(), 1U);
  ASSERT_EQ(history.unreadable.size(), 1U);
  EXPECT_NE(history.unreadable[0].message.find("broken.json"), std::string::npos);
  EXPECT_FALSE(load_history(folder_ + "/none"));
}

TEST_F(RecordHistory, IsShownAsTextAndJson) {
  for (int n = 0; n < 7; ++n) append(run_of_day(n));
  const History history = load();
  const std::string text = history_text(history, {});
  EXPECT_NE(text.find("7 runs"), std::string::npos) << text;
  EXPECT_NE(text.find("Host lab (aabbccddeeff0011)"), std::string::npos);
  const std::string trend = history_text(history, {.suite = "X25519MLKEM768"});
  EXPECT_NE(trend.find("2026-11-03T10:00:00Z  c00000000002"), std::string::npos) << trend;
  EXPECT_NE(trend.find("+0.4 %"), std::string::npos) << trend;  // 271 over 270
  const auto json = nlohmann::json::parse(history_json(history, {.track = "tls"}));
  EXPECT_EQ(json["runs"].size(), 7U);
  EXPECT_EQ(json["series"].size(), 2U);
  EXPECT_EQ(json["series"][0]["points"].size(), 7U);
  EXPECT_EQ(nlohmann::json::parse(history_json(history, {.track = "ssh"}))["series"].size(), 0U);
  EXPECT_EQ(nlohmann::json::parse(history_json(history, {.host = "other"}))["runs"].size(), 0U);
}

TEST_F(RecordHistory, IsAPageWithWhereItComesFrom) {
  for (int n = 0; n < 7; ++n) append(run_of_day(n));
  Record noisy = run_of_day(7);
  noisy.withheld = Withheld{"steal 3.0 %, above 1 %"};
  append(noisy);
  const std::string page = history_markdown(load(), {.track = "tls"}, "pqcost history runs");
  EXPECT_NE(page.find("`pqcost history runs`"), std::string::npos) << page;
  EXPECT_NE(page.find(run_of_day(0).id + " | c00000000000"), std::string::npos) << page;
  EXPECT_NE(page.find("withheld: steal 3.0 %, above 1 %"), std::string::npos) << page;
  EXPECT_NE(page.find("7 runs)"), std::string::npos) << page;
  EXPECT_EQ(page.find("8 runs)"), std::string::npos) << page;
  EXPECT_NE(page.find("| baseline |"), std::string::npos) << page;
  // The bytes are those of a run that counts, not of the withheld one.
  EXPECT_NE(page.find("Of run " + run_of_day(6).id), std::string::npos) << page;
}

TEST_F(RecordHistory, APageOfTooFewRunsShowsNoRange) {
  for (int n = 0; n < 6; ++n) append(run_of_day(n));
  const std::string page = history_markdown(load(), {}, "pqcost history runs");
  EXPECT_NE(page.find("6 of the 7 runs that make a range"), std::string::npos) << page;
  EXPECT_EQ(page.find("6 runs)"), std::string::npos) << page;
}

}  // namespace
}  // namespace pqedge::measure
