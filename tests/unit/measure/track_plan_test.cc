// Whole tracks over the real OpenSSL: what the record says, and which library is taken.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "measure/host/pin.h"
#include "measure/record/json.h"
#include "measure/track/plan.h"

namespace pqedge::measure {
namespace {

const Registry& registry() {
  static const Registry loaded = [] {
    RegistryOptions options;
    options.wanted = [](const Algorithm& a) {
      const std::set<std::string> names{"X25519",     "P-256",     "ML-KEM-768", "sntrup761",
                                        "ECDSA-P256", "ML-DSA-44", "AES-256-GCM"};
      return names.contains(a.name);
    };
    return Registry::load(options);
  }();
  return loaded;
}

TrackRunOptions small(std::vector<Track> tracks) {
  TrackRunOptions options{.tracks = std::move(tracks)};
  options.limits = {.warm_ups = 1, .iterations = 12};
  options.threads = {1, 2};
  options.cores = *allowed_cores();
  options.throughput_time = kMillisecond;
  return options;
}

Record measured(const TrackPlan& plan, size_t failures = 0) {
  Record record;
  record.id = new_record_id();
  record.environment.date = date_now();
  EXPECT_EQ(plan.measure(record, {}), failures);
  return record;
}

const SuiteRecord& suite(const Record& record, std::string_view name) {
  for (const SuiteRecord& s : record.tracks.at(0).suites) {
    if (s.name == name) return s;
  }
  throw std::runtime_error("no suite " + std::string(name));
}

// M7 from the JSON as it is written, not from what is in memory.
TEST(TrackPlan, TheSumHoldsInTheWrittenRecord) {
  TrackRunOptions options = small({Track::ipsec});
  options.suites = {"curve25519+mlkem768", "mlkem768"};
  const auto plan = TrackPlan::make(registry(), options);
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  EXPECT_GT(plan->seconds(), 0);
  const auto read = from_json(to_json(measured(*plan)), "test");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  ASSERT_EQ(read->tracks.at(0).suites.size(), 3u);
  for (const SuiteRecord& s : read->tracks.at(0).suites) {
    ASSERT_TRUE(s.composed.has_value()) << s.name;
    double sum = 0;
    for (const PhaseRecord& phase : s.phases) {
      EXPECT_EQ(phase.weight, phase.name.starts_with("Classical") ? 2 : 1);
      sum += phase.weight * phase.figures.mean_us;
    }
    EXPECT_NEAR(s.composed->mean_us / sum, 1, 2e-5) << s.name;
    EXPECT_EQ(s.against_baseline.has_value(), !s.baseline);
    EXPECT_EQ(s.provider, "OpenSSL");
  }
  EXPECT_EQ(suite(*read, "curve25519+mlkem768").wire_bytes.total(), 2336u);
  EXPECT_EQ(suite(*read, "mlkem768").family, "lattice");
  EXPECT_EQ(suite(*read, "curve25519+mlkem768").family, "hybrid");
}

TEST(TrackPlan, WhatNoLibraryOffersIsAbsent) {
  TrackRunOptions options = small({Track::tls});
  options.suites = {"SecP384r1MLKEM1024"};  // its primitives were not loaded
  const auto plan = TrackPlan::make(registry(), options);
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  const Record record = measured(*plan);
  const SuiteRecord& absent = suite(record, "SecP384r1MLKEM1024");
  EXPECT_EQ(absent.absent, "no library here offers ML-KEM-1024 and P-384");
  EXPECT_TRUE(absent.phases.empty());
  EXPECT_FALSE(absent.composed.has_value());
  EXPECT_TRUE(suite(record, "X25519").composed.has_value());
}

TEST(TrackPlan, NamesThatAreUnknown) {
  TrackRunOptions options = small({Track::tls});
  options.suites = {"X25519MLKEM786"};
  auto plan = TrackPlan::make(registry(), options);
  ASSERT_FALSE(plan.has_value());
  EXPECT_NE(plan.error().message.find("did you mean \"X25519MLKEM768\""), std::string::npos);

  options = small({Track::tls});
  options.providers = {"NSS"};
  plan = TrackPlan::make(registry(), options);
  ASSERT_FALSE(plan.has_value());
  EXPECT_NE(plan.error().message.find("OpenSSL"), std::string::npos);
}

TEST(TrackPlan, EveryLibraryThatHasAllOfASuite) {
  TrackRunOptions options = small({Track::tls});
  options.suites = {"MLKEM768"};
  options.all_providers = true;
  const auto plan = TrackPlan::make(registry(), options);
  ASSERT_TRUE(plan.has_value());
  const Record record = measured(*plan);
  std::multiset<std::string> seen;
  for (const SuiteRecord& s : record.tracks[0].suites) {
    if (s.name == "MLKEM768") seen.insert(s.provider);
    EXPECT_EQ(s.against_baseline.has_value(), !s.baseline) << s.provider;
  }
  std::multiset<std::string> expected;
  for (const Provider* p : registry().offering("ML-KEM-768")) expected.insert(p->facts().name);
  EXPECT_EQ(seen, expected);
}

TEST(TrackPlan, SignaturesBulkAndThroughput) {
  const auto plan = [&] {
    TrackRunOptions options = small({Track::signatures, Track::bulk});
    options.suites = {"ML-DSA-44"};
    return TrackPlan::make(registry(), options);
  }();
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  Record record = measured(*plan);
  const SuiteRecord& ml_dsa = suite(record, "ML-DSA-44");
  ASSERT_EQ(ml_dsa.phases.size(), 3u);
  EXPECT_EQ(ml_dsa.phases[1].name, "Sign");
  EXPECT_FALSE(ml_dsa.composed.has_value());
  EXPECT_EQ(ml_dsa.sizes.at("signature"), 2420u);  // FIPS 204 table 2
  EXPECT_EQ(ml_dsa.sizes.at("public_key"), 1312u);
  EXPECT_EQ(ml_dsa.wire_details.at(0).bytes.server_to_client, 2428u);
  EXPECT_EQ(plan->throughput(record, {}), 0u);
  std::multiset<std::string> suites;
  for (const ThroughputRecord& t : record.tracks[0].throughput) suites.insert(t.suite);
  EXPECT_EQ(suites.count("ML-DSA-44 sign"), 2u);
  EXPECT_EQ(record.tracks[1].throughput.size(), 2u);
  EXPECT_TRUE(check_record(record).has_value());
}

TEST(TrackPlan, CancelledBeforeItBegan) {
  std::atomic<bool> cancel = false;
  TrackRunOptions options = small({Track::tls});
  options.suites = {"X25519"};
  options.limits.cancel = &cancel;
  const auto plan = TrackPlan::make(registry(), options);
  ASSERT_TRUE(plan.has_value());
  cancel = true;
  const Record record = measured(*plan);
  EXPECT_FALSE(record.complete);
  EXPECT_TRUE(record.tracks.empty());
}

}  // namespace
}  // namespace pqedge::measure
