#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "measure/chain/chain.h"

namespace pqedge::measure {
namespace {

ChainSpec plain(const std::string& algorithm) {
  return {.root = algorithm, .intermediate = algorithm, .leaf = algorithm};
}

TEST(ChainRun, RecordsChainsAndTheirFlights) {
  ChainRunOptions options;
  options.chains = {plain("ECDSA-P256"), plain("ML-DSA-44")};
  Record record;
  ASSERT_TRUE(run_chains(options, record).has_value());
  ASSERT_EQ(record.chains.size(), 2u);
  ASSERT_EQ(record.flights.size(), 8u);  // two groups, two transports
  EXPECT_EQ(record.chains[0].name, "ECDSA P-256");
  EXPECT_TRUE(record.chains[1].captured);
  const auto flight = [&](std::string_view chain, std::string_view transport,
                          std::string_view group) {
    return *std::ranges::find_if(record.flights, [&](const FlightRecord& f) {
      return f.chain == chain && f.transport == transport && f.group == group;
    });
  };
  const FlightRecord over_tcp = flight("ML-DSA-44", "tcp", "X25519MLKEM768");
  EXPECT_TRUE(over_tcp.fits);
  ASSERT_EQ(over_tcp.windows.size(), 3u);
  EXPECT_EQ(over_tcp.windows[1].window, 14'480u);
  const FlightRecord hybrid = flight("ML-DSA-44", "quic", "X25519MLKEM768");
  const FlightRecord classical = flight("ML-DSA-44", "quic", "X25519");
  EXPECT_EQ(hybrid.window, 7200u);
  EXPECT_FALSE(hybrid.fits);
  EXPECT_EQ(hybrid.client_datagrams, 2u);
  EXPECT_GE(hybrid.extra_round_trips, 1u);
  if (classical.extra_round_trips > hybrid.extra_round_trips) {
    EXPECT_NE(hybrid.note.find("fewer than with X25519"), std::string::npos);
  }
}

TEST(ChainRun, SlhDsaLeavesAreCountedNotCaptured) {
  ChainRunOptions options;
  options.chains = {plain("SLH-DSA-SHAKE-128s")};
  Record record;
  ASSERT_TRUE(run_chains(options, record).has_value());
  ASSERT_EQ(record.chains.size(), 1u) << record.absent.at(0).reason;
  EXPECT_FALSE(record.chains[0].captured);
  EXPECT_NE(record.chains[0].note.find("not captured"), std::string::npos);
  EXPECT_TRUE(record.flights.empty());
  EXPECT_GT(record.chains[0].leaf_der, 7856u);
}

TEST(ChainRun, WhatCannotBeMintedIsAbsentWithItsReason) {
  ChainRunOptions options;
  options.chains = {plain("Rainbow"), plain("ECDSA-P256")};
  Record record;
  ASSERT_TRUE(run_chains(options, record).has_value());
  EXPECT_EQ(record.chains.size(), 1u);
  ASSERT_EQ(record.absent.size(), 1u);
  EXPECT_NE(record.absent[0].reason.find("Rainbow"), std::string::npos);
}

TEST(ChainRun, ChecksItsInputs) {
  Record record;
  EXPECT_FALSE(run_chains({.datagram = 1199}, record).has_value());
  EXPECT_FALSE(run_chains({.window_segments = 0}, record).has_value());
  EXPECT_FALSE(run_chains({.segments = {}}, record).has_value());
}

TEST(ChainRun, KeepsWhatWasDoneWhenCancelled) {
  std::atomic<bool> cancel{false};
  ChainRunOptions options;
  options.chains = {plain("ECDSA-P256"), plain("ECDSA-P256")};
  options.cancel = &cancel;
  options.progress = [&](size_t, size_t, std::string_view) { cancel = true; };
  Record record;
  ASSERT_TRUE(run_chains(options, record).has_value());
  EXPECT_EQ(record.chains.size(), 1u);
  EXPECT_FALSE(record.complete);
}

TEST(ChainRun, NamesOfTheDefaultChainsDiffer) {
  std::set<std::string> names;
  for (const ChainSpec& spec : default_chain_specs()) names.insert(chain_name(spec));
  EXPECT_EQ(names.size(), default_chain_specs().size());
  EXPECT_TRUE(names.contains("ML-DSA-65 issuer, ECDSA P-256 leaf"));
  EXPECT_TRUE(names.contains("ML-DSA-44, 2 SCTs"));
  EXPECT_TRUE(names.contains("ML-DSA-44, 2 ECDSA P-256 SCTs"));
}

}  // namespace
}  // namespace pqedge::measure
