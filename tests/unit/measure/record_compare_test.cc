#include "measure/record/compare.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "measure/record/json.h"
#include "unit/measure/record_fixture.h"

namespace pqedge::measure {
namespace {

// A run with the hybrid's phases slower by `factor`; each sample is kept when `samples`.
Record run(double factor, bool samples = false) {
  Record r = test::small_record();
  SuiteRecord& hybrid = r.tracks[0].suites[1];
  for (SuiteRecord& suite : r.tracks[0].suites) {
    const double by = &suite == &hybrid ? factor : 1;
    for (PhaseRecord& p : suite.phases) {
      const auto us = test::samples_around(p.figures.mean_us * by);
      p.figures = summarize(us);
      if (samples) p.samples_us = us;
    }
    suite.composed = test::composed_of(suite.phases);
  }
  EXPECT_TRUE(check_record(r));
  return r;
}

std::vector<Record> runs(std::initializer_list<double> factors) {
  std::vector<Record> out;
  for (const double f : factors) {
    out.push_back(run(f));
    out.back().environment.date = std::format("2026-11-30T18:30:{:02}Z", out.size());
  }
  return out;
}

Comparison compare_one(const Record& a, const Record& b, double threshold = 5) {
  return compare(std::span(&a, 1), std::span(&b, 1), {.threshold_percent = threshold});
}

const Finding* find(const Comparison& c, std::string_view suite, std::string_view figure) {
  const auto it = std::ranges::find_if(
      c.findings, [&](const Finding& f) { return f.suite == suite && f.figure == figure; });
  return it == c.findings.end() ? nullptr : &*it;
}

TEST(RecordCompare, ARunIsNotSlowerThanItself) {
  for (const bool samples : {false, true}) {
    const Comparison c = compare_one(run(1, samples), run(1, samples));
    EXPECT_EQ(c.verdict, Verdict::none) << to_text(c, {});
    EXPECT_EQ(c.findings.size(), 2U);
  }
}

TEST(RecordCompare, TwiceTheTimeIsARegression) {
  for (const bool samples : {false, true}) {
    const Comparison c = compare_one(run(1, samples), run(2, samples));
    EXPECT_EQ(c.verdict, Verdict::regression) << to_text(c, {});
    const Finding* f = find(c, "X25519MLKEM768", "composed");
    ASSERT_NE(f, nullptr);
    EXPECT_EQ(f->verdict, Verdict::regression);
    ASSERT_TRUE(f->ratio);
    EXPECT_NEAR(f->ratio->value, 2, 0.02);
    EXPECT_GT(f->ratio->ci95.first, 1.9);
    EXPECT_NE(f->evidence.find(samples ? "bootstrap" : "means"), std::string::npos);
    EXPECT_NE(f->evidence.find("most in Classical derive"), std::string::npos) << f->evidence;
    EXPECT_EQ(find(c, "X25519", "composed")->verdict, Verdict::none);
  }
}

TEST(RecordCompare, FasterIsNoRegression) {
  EXPECT_EQ(compare_one(run(2), run(1)).verdict, Verdict::none);
}

TEST(RecordCompare, TheThresholdDecidesWhatIsLarge) {
  EXPECT_EQ(compare_one(run(1), run(1.2)).verdict, Verdict::regression);
  EXPECT_EQ(compare_one(run(1), run(1.2), 30).verdict, Verdict::none);
  // Its interval holds the threshold.
  EXPECT_EQ(compare_one(run(1), run(1.2), 20.5).verdict, Verdict::cannot_tell);
}

TEST(RecordCompare, AHostThatDriftsCannotTellSmallChanges) {
  Record before = run(1);
  Record after = run(1.2);
  after.environment.noise.reference_us = 125;  // the same loop took a quarter more
  EXPECT_EQ(compare_one(before, after).verdict, Verdict::cannot_tell);
  before.environment.noise.spread_percent = 25;
  after.environment.noise.reference_us = 100;
  EXPECT_EQ(compare_one(before, after).verdict, Verdict::cannot_tell);
}

TEST(RecordCompare, OtherHostsAreNotCompared) {
  const Record before = run(1);
  Record after = run(3);
  after.environment.host.id = "another";
  Comparison c = compare_one(before, after);
  EXPECT_EQ(c.verdict, Verdict::cannot_tell);
  ASSERT_EQ(c.reasons.size(), 1U);
  EXPECT_NE(c.reasons[0].find("different hosts"), std::string::npos);
  after.environment.host.id = before.environment.host.id;
  after.environment.host.cpu.model = "Xeon";
  c = compare_one(before, after);
  EXPECT_EQ(c.verdict, Verdict::cannot_tell);
  EXPECT_NE(c.reasons[0].find("different processors: EPYC, x86_64, Xeon, x86_64"),
            std::string::npos)
      << c.reasons[0];
}

TEST(RecordCompare, OtherCodeProvidersAndKeysAreNotCompared) {
  const Record before = run(1);
  Record after = run(3);
  SuiteRecord& hybrid = after.tracks[0].suites[1];
  hybrid.code = "AVX2";
  const Finding* f = nullptr;
  Comparison c = compare_one(before, after);
  EXPECT_EQ(c.verdict, Verdict::cannot_tell);
  ASSERT_NE(f = find(c, "X25519MLKEM768", "composed"), nullptr);
  EXPECT_EQ(f->evidence, "different code ran: AVX2, portable C");
  hybrid.code = "portable C";
  hybrid.keys = "expanded";
  c = compare_one(before, after);
  EXPECT_EQ(c.verdict, Verdict::cannot_tell);
  hybrid.keys = "parsed";
  hybrid.provider = "Botan";
  c = compare_one(before, after);
  EXPECT_EQ(c.verdict, Verdict::cannot_tell);
  ASSERT_NE(f = find(c, "X25519MLKEM768", "composed"), nullptr);
  EXPECT_EQ(f->evidence, "not measured after with this provider");
}

TEST(RecordCompare, WithheldRunsCannotTell) {
  const Record before = run(1);
  Record after = run(3);
  after.withheld = Withheld{"steal was 5 %"};
  Comparison c = compare_one(before, after);
  EXPECT_EQ(c.verdict, Verdict::cannot_tell);
  EXPECT_EQ(c.reasons[0], "after is withheld: steal was 5 %");
  after.withheld.reset();
  after.tracks[0].suites[1].withheld = Withheld{"halves differ"};
  c = compare_one(before, after);
  EXPECT_EQ(c.verdict, Verdict::cannot_tell);
  EXPECT_EQ(find(c, "X25519MLKEM768", "composed")->evidence, "withheld: halves differ");
}

TEST(RecordCompare, SevenRunsASideGiveAnIntervalOfTheirMedians) {
  const auto before = runs({1.00, 1.02, 0.98, 1.01, 0.99, 1.03, 0.97});
  const auto after = runs({1.10, 1.12, 1.08, 1.11, 1.09, 1.13, 1.07});
  const Comparison c = compare(before, after, {});
  EXPECT_EQ(c.verdict, Verdict::regression);
  const Finding* f = find(c, "X25519MLKEM768", "composed");
  EXPECT_NE(f->evidence.find("7 and 7 runs: 95 % interval"), std::string::npos);
  EXPECT_NEAR(f->ratio->value, 1.1, 0.005);
  EXPECT_EQ(compare(before, before, {}).verdict, Verdict::none);
}

TEST(RecordCompare, FewRunsAreComparedByTheirExtremes) {
  const auto before = runs({1.00, 1.05, 0.95});
  const auto overlapping = runs({1.10, 1.02, 1.12});
  const auto apart = runs({1.30, 1.25, 1.35});
  EXPECT_EQ(compare(before, overlapping, {}).verdict, Verdict::cannot_tell);
  const Comparison c = compare(before, apart, {});
  EXPECT_EQ(c.verdict, Verdict::regression);
  EXPECT_NE(find(c, "X25519MLKEM768", "composed")->evidence.find("extremes"), std::string::npos);
}

TEST(RecordCompare, AWithheldRunAmongSeveralIsLeftOut) {
  const auto before = runs({1, 1, 1});
  auto after = runs({1, 1, 9});
  after[2].withheld = Withheld{"load"};
  const Comparison c = compare(before, after, {});
  EXPECT_EQ(c.verdict, Verdict::none) << to_text(c, {});
  ASSERT_FALSE(c.notes.empty());
  EXPECT_NE(c.notes[0].find("1 of 3 runs are left out"), std::string::npos);
}

TEST(RecordCompare, MoreBytesAreARegressionOnAnyHost) {
  const Record before = run(1);
  Record after = run(1);
  after.environment.host.id = "another";
  after.tracks[0].suites[1].wire_bytes.client_to_server += 1;
  const Comparison c = compare_one(before, after);
  EXPECT_EQ(c.verdict, Verdict::regression);
  const Finding* f = find(c, "X25519MLKEM768", "wire bytes");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->before, 2336);
  EXPECT_EQ(f->after, 2337);
  EXPECT_EQ(compare_one(after, before).verdict, Verdict::cannot_tell);
}

TEST(RecordCompare, RecordsWithoutACommonTrackCannotTell) {
  const Record before = run(1);
  Record after = run(1);
  after.tracks[0].name = "ssh";
  const Comparison c = compare_one(before, after);
  EXPECT_EQ(c.verdict, Verdict::cannot_tell);
  EXPECT_EQ(c.reasons, std::vector<std::string>{"the runs have no figure in common"});
  EXPECT_EQ(c.notes.size(), 2U);
}

TEST(RecordCompare, DifferencesThatDoNotForbidItAreNoted) {
  const Record before = run(1);
  Record after = run(1);
  after.environment.commit = "fedcba987654";
  after.environment.host.kernel = "6.13.0";
  const Comparison c = compare_one(before, after);
  EXPECT_EQ(c.verdict, Verdict::none);
  EXPECT_EQ(c.notes, (std::vector<std::string>{"commit: 0123456789ab before, fedcba987654 after",
                                               "kernel: 6.12.0 before, 6.13.0 after"}));
}

TEST(RecordCompare, PhasesAreComparedWhereNothingIsComposed) {
  Record before = test::small_record();
  before.tracks = {{.name = "signatures", .title = "Signatures"}};
  before.tracks[0].suites.push_back(test::signature("ML-DSA-65", "lattice", 150, 900, 170));
  Record after = before;
  after.tracks[0].suites[0] = test::signature("ML-DSA-65", "lattice", 150, 1200, 170);
  const Comparison c = compare_one(before, after);
  EXPECT_EQ(c.verdict, Verdict::regression);
  EXPECT_EQ(find(c, "ML-DSA-65", "Sign")->verdict, Verdict::regression);
  EXPECT_EQ(find(c, "ML-DSA-65", "Verify")->verdict, Verdict::none);
}

TEST(RecordCompare, IsWrittenAsJson) {
  const auto json = nlohmann::json::parse(to_json(compare_one(run(1), run(2)), {}));
  EXPECT_EQ(json["verdict"], "regression");
  EXPECT_EQ(json["threshold_percent"], 5);
  EXPECT_EQ(json["findings"].size(), 2U);
  EXPECT_TRUE(json["findings"][0]["interval"].is_array());
}

}  // namespace
}  // namespace pqedge::measure
