// The sum (M7): a composed mean is that of its phases by weight, whatever the samples.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>

#include "measure/stats/summary.h"
#include "measure/track/catalog.h"
#include "measure/track/compose.h"
#include "measure/track/throughput.h"

namespace pqedge::measure {
namespace {

std::vector<double> noisy(size_t count, double mean, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> samples;
  for (size_t i = 0; i < count; ++i) {
    samples.push_back(mean * (1 + static_cast<double>(random() % 10'000) / 3'000));
  }
  return samples;
}

double mean_of(const std::vector<double>& samples) { return summarize(samples).mean_us; }

TEST(Compose, MeanIsTheWeightedSum) {
  for (const size_t count : {10u, 101u, 1000u}) {
    std::vector<PhaseSamples> phases;
    double expected = 0;
    uint64_t seed = count;
    for (const PhasePlan& plan : phases_of(kex_suites(Track::tls).back())) {
      phases.push_back({plan, noisy(count, 7.0 * static_cast<double>(seed % 5 + 1), ++seed)});
      expected += plan.weight * mean_of(phases.back().us);
    }
    const Composition c = compose(phases);
    ASSERT_EQ(c.composed.size(), count);
    EXPECT_NEAR(mean_of(c.composed) / expected, 1, 2e-5);
    EXPECT_NEAR(mean_of(c.client) + mean_of(c.server), mean_of(c.composed), 1e-9);
  }
}

// Of one phase done by both, each side has the phase's own mean, from different draws.
TEST(Compose, BothSidesDrawForThemselves) {
  const PhasePlan plan{Step::classical_derive, "Classical derive", Side::both, 2};
  const std::vector<PhaseSamples> phases{{plan, noisy(200, 40, 3)}};
  const Composition c = compose(phases);
  EXPECT_EQ(c.client, phases[0].us);
  EXPECT_NE(c.server, c.client);
  auto sorted_server = c.server;
  auto sorted_client = c.client;
  std::ranges::sort(sorted_server);
  std::ranges::sort(sorted_client);
  EXPECT_EQ(sorted_server, sorted_client);
  // Twice the same sample would double the spread; independent draws add variances.
  const double one = summarize(phases[0].us).stdev_us;
  const double two = summarize(c.composed).stdev_us;
  EXPECT_NEAR(two / one, std::sqrt(2.0), 0.25);
}

TEST(Compose, SidesOfAKem) {
  std::vector<PhaseSamples> phases;
  for (const PhasePlan& plan : kKemPhases) {
    phases.push_back({plan, std::vector<double>(20, 10.0 * (1 + static_cast<int>(plan.step)))});
  }
  const Composition c = compose(phases);
  EXPECT_DOUBLE_EQ(c.client[7], 10 + 30);  // keygen, decapsulate
  EXPECT_DOUBLE_EQ(c.server[7], 20);       // encapsulate
}

TEST(Compose, CutsToTheShortest) {
  std::vector<PhaseSamples> phases{{kKemPhases[0], noisy(50, 1, 1)},
                                   {kKemPhases[1], noisy(30, 1, 2)}};
  cut_to_shortest(phases);
  EXPECT_EQ(phases[0].us.size(), 30u);
  EXPECT_EQ(phases[1].us.size(), 30u);
}

// The weights of the exchange, stated here once more: one KEM keygen, encapsulation and
// decapsulation; both peers make a classical key and derive.
TEST(Catalog, WeightsAndSides) {
  const std::map<std::string, std::pair<unsigned, std::string>> expected{
      {"KEM keygen", {1, "client"}},      {"KEM encapsulate", {1, "server"}},
      {"KEM decapsulate", {1, "client"}}, {"Classical keygen", {2, "both"}},
      {"Classical derive", {2, "both"}},  {"Second share keygen", {1, "client"}}};
  for (const Track track : {Track::tls, Track::ssh, Track::ipsec}) {
    for (const KexSuite& suite : kex_suites(track)) {
      size_t classical = 0;
      size_t kem = 0;
      for (const PhasePlan& plan : phases_of(suite)) {
        const auto& [weight, side] = expected.at(std::string(plan.name));
        EXPECT_EQ(plan.weight, weight) << suite.name << ' ' << plan.name;
        EXPECT_EQ(side_name(plan.side), side) << suite.name << ' ' << plan.name;
        classical += plan.name.starts_with("Classical") ? 1 : 0;
        kem += plan.name.starts_with("KEM") ? 1 : 0;
      }
      EXPECT_EQ(classical, suite.classical.empty() ? 0u : 2u);
      EXPECT_EQ(kem, suite.kem.empty() ? 0u : 3u);
    }
  }
}

TEST(Catalog, EachTrackBeginsWithItsOnlyBaseline) {
  for (const Track track : {Track::tls, Track::ssh, Track::ipsec}) {
    const auto suites = kex_suites(track);
    EXPECT_TRUE(suites.front().baseline);
    EXPECT_EQ(suites.front().classical, "X25519");
    EXPECT_EQ(std::ranges::count_if(suites, &KexSuite::baseline), 1);
  }
  EXPECT_TRUE(signature_suites().front().baseline);
  EXPECT_TRUE(bulk_suites().front().baseline);
  for (const Track track : kTracks) EXPECT_EQ(track_of(track_name(track)), track);
  EXPECT_FALSE(track_of("tsl").has_value());
}

// IANA's code points, the hybrids as in RFC 10024.
TEST(Catalog, CodePoints) {
  const std::map<std::string_view, unsigned> expected{{"X25519", 0x001d},
                                                      {"MLKEM768", 0x0201},
                                                      {"SecP256r1MLKEM768", 0x11eb},
                                                      {"X25519MLKEM768", 0x11ec},
                                                      {"SecP384r1MLKEM1024", 0x11ed},
                                                      {"X25519MLKEM768 + X25519 share", 0x11ec}};
  for (const KexSuite& s : kex_suites(Track::tls)) EXPECT_EQ(s.code, expected.at(s.name));
  EXPECT_EQ(kex_suites(Track::tls).size(), expected.size());
}

TEST(Throughput, ThreadCounts) {
  EXPECT_TRUE(thread_counts(0).empty());
  EXPECT_EQ(thread_counts(1), (std::vector<unsigned>{1}));
  EXPECT_EQ(thread_counts(3), (std::vector<unsigned>{1, 2, 3}));
  EXPECT_EQ(thread_counts(20), (std::vector<unsigned>{1, 2, 3, 4, 5, 6, 7, 8, 16, 20}));
}

}  // namespace
}  // namespace pqedge::measure
