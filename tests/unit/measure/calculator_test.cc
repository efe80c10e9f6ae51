// One worked example, every value of which was computed by hand from the formulas of
// docs/pqcost/calculator.md; the same numbers stand there.
#include "measure/calculator/calculator.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "unit/measure/record_fixture.h"

namespace pqedge::measure {
namespace {

FlightRecord flight(std::string chain, std::string transport, std::string group, size_t hello,
                    size_t server, size_t client, std::map<std::string, size_t> parts) {
  FlightRecord f;
  f.chain = std::move(chain);
  f.transport = std::move(transport);
  f.group = std::move(group);
  f.client_hello = hello;
  f.server_flight = server;
  f.client_flight = client;
  f.parts = std::move(parts);
  f.segment = 1460;
  return f;
}

ChainRecord chain(std::string name, std::string algorithm) {
  ChainRecord c;
  c.name = std::move(name);
  c.leaf_algorithm = c.intermediate_algorithm = c.root_algorithm = std::move(algorithm);
  return c;
}

// X25519: 140 us, 70 of them the server's. X25519MLKEM768: 270, 100 the server's.
Record measured() {
  Record r = test::small_record();
  r.tracks[0].suites[0].server = test::summary_around(70);
  r.tracks[0].suites[1].server = test::summary_around(100);
  r.tracks.push_back({.name = "signatures", .title = "Signatures"});
  r.tracks.back().suites = {test::signature("ECDSA-P256", "classical", 20, 25, 70),
                            test::signature("ML-DSA-65", "lattice", 150, 900, 170)};
  r.tracks.push_back({.name = "bulk", .title = "Bulk"});
  SuiteRecord aes = test::signature("AES-256-GCM", "symmetric", 1, 1, 1);
  aes.phases = {test::phase("Encrypt", "both", 1, 8.192)};  // 0.0005 us a byte
  aes.sizes = {{"plaintext", 16384}};
  r.tracks.back().suites = {aes};
  r.chains = {chain("ECDSA P-256", "ECDSA-P256"), chain("ML-DSA-65", "ML-DSA-65")};
  r.flights = {
      flight("ECDSA P-256", "tcp", "X25519", 245, 1300, 80,
             {{"ServerHello", 122},
              {"EncryptedExtensions", 10},
              {"Certificate", 907},
              {"CertificateVerify", 79},
              {"Finished", 36},
              {"TLS records", 146}}),
      flight("ML-DSA-65", "tcp", "X25519MLKEM768", 1480, 15900, 80,
             {{"ServerHello", 1210},
              {"EncryptedExtensions", 10},
              {"Certificate", 11147},
              {"CertificateVerify", 3317},
              {"Finished", 36},
              {"TLS records", 180}}),
  };
  TokenRecord es256;
  es256.algorithm = "ES256";
  es256.first_request = {{"hpack", 450}};
  es256.following_request = {{"hpack", 2}};
  es256.forms = {{"authorization line", 428}};
  TokenRecord ml_dsa = es256;
  ml_dsa.algorithm = "ML-DSA-65";
  ml_dsa.first_request = {{"hpack", 4760}};
  ml_dsa.following_request = {{"hpack", 4760}};
  r.tokens = {es256, ml_dsa};
  return r;
}

Inputs example() {
  Inputs in;
  in.connections_per_second = 1000;
  in.resumption = 0.5;
  in.early_data = 0.2;
  in.requests_per_connection = 10;
  in.response_bytes = 20000;
  in.rtt_ms = 50;
  in.egress_price_per_gb = 0.1;
  in.core_price_per_hour = 0.05;
  in.before = {"X25519", "ECDSA P-256", "ES256"};
  in.after = {"X25519MLKEM768", "ML-DSA-65", "ML-DSA-65"};
  return in;
}

Calculation calculated(const Inputs& inputs, const Record& record) {
  auto c = calculate(inputs, Figures({record}, "OpenSSL", false));
  EXPECT_TRUE(c) << c.error().message;
  return c ? *c : Calculation{};
}

std::string refusal(const Inputs& inputs, const Record& record) {
  const auto c = calculate(inputs, Figures({record}, "OpenSSL", false));
  return c ? "" : c.error().message;
}

const Term& term(const Calculation& c, std::string_view name, std::string_view unit) {
  for (const TermGroup& g : c.groups) {
    for (const Term& t : g.terms) {
      if (t.name == name && t.unit == unit) return t;
    }
  }
  ADD_FAILURE() << "no term " << name << " in " << unit;
  static const Term kNone;
  return kNone;
}

void expect(const Calculation& c, std::string_view name, std::string_view unit, double before,
            double after) {
  const Term& t = term(c, name, unit);
  EXPECT_NEAR(t.before, before, 1e-4 * std::max(before, 1.0)) << name;
  EXPECT_NEAR(t.after, after, 1e-4 * std::max(after, 1.0)) << name;
  EXPECT_FALSE(t.sources.empty() && name != "together") << name;
}

TEST(Calculator, Cores) {
  const Calculation c = calculated(example(), measured());
  expect(c, "full handshake", "us", 70 + 25, 100 + 900);
  expect(c, "resumed handshake", "us", 70, 100);
  expect(c, "tokens of one connection", "us", 10 * 70, 10 * 170);
  expect(c, "encrypt answers of one connection", "us", 100, 100);  // 200,000 x 0.0005
  expect(c, "mean connection", "us", 882.5, 2350);
  expect(c, "cores", "cores", 0.8825, 2.35);
}

TEST(Calculator, Bytes) {
  const Calculation c = calculated(example(), measured());
  expect(c, "sent by the server, full handshake", "B", 1300, 15900);
  // (122 + 6 + 10 + 36) x (1 + 146 / 1154); (1210 + 6 + 10 + 36) x (1 + 180 / 15720)
  expect(c, "sent by the server, resumed handshake", "B", 196.0139, 1276.4504);
  expect(c, "received by the server, full handshake", "B", 245 + 5 + 80, 1480 + 5 + 80);
  expect(c, "received in tokens, one connection", "B", 450 + 9 * 2, 10 * 4760);
  // 748.0069 and 8588.2252 B a connection, 2.628e9 connections a month
  expect(c, "handshakes sent", "GB a month", 1965.7623, 22569.856);
  expect(c, "egress, answers included", "GB a month", 1965.7623 + 525600, 22569.856 + 525600);
  expect(c, "tokens received", "GB a month", 1229.904, 125092.8);
}

TEST(Calculator, Latency) {
  const Calculation c = calculated(example(), measured());
  expect(c, "round trips of the full handshake beyond the usual", "", 0, 1);  // 15,900 > 14,600
  // 2 x 50 + (140 + 25 + 3 x 70) / 1000; 3 x 50 + (270 + 900 + 3 x 170) / 1000
  expect(c, "full handshake", "ms", 100.375, 151.68);
  expect(c, "resumed handshake", "ms", 100.14, 100.27);
  expect(c, "0-RTT, until the request may be sent", "ms", 50, 50);
  // 0.5 x full + 0.5 x (0.8 x resumed + 0.2 x 0-RTT)
  expect(c, "handshake, mean of all connections", "ms", 95.2435, 120.948);
  // 20,000 B take a second round of a window of 14,600, and none of one that has doubled.
  expect(c, "last byte of the first answer, full handshake", "ms", 200.375, 201.68);
  expect(c, "last byte of the first answer, mean", "ms", 195.2435, 195.948);
}

TEST(Calculator, Money) {
  const Calculation c = calculated(example(), measured());
  expect(c, "egress", "a month", 52756.5762, 54816.9856);
  expect(c, "cores", "a month", 32.21125, 85.775);
  expect(c, "together", "a month", 52788.7875, 54902.7606);
}

TEST(Calculator, LossCostsARoundTripAPacketAtLeast) {
  Inputs in = example();
  in.loss = 0.01;
  // 1 + 1 + 1 packets and the 2 of TCP; 2 + 11 + 1 + 2
  expect(calculated(in, measured()), "lost packets, full handshake, at least", "ms", 2.5, 8);
}

TEST(Calculator, ALargerWindowSavesTheRoundTrip) {
  Inputs in = example();
  in.initial_window = 20;
  expect(calculated(in, measured()), "full handshake", "ms", 100.375, 101.68);
}

TEST(Calculator, QuicTakesWhatTheCaptureSaw) {
  Inputs in = example();
  in.http = "3";
  in.after.token = in.before.token = "none";
  Record r = measured();
  for (FlightRecord& f : r.flights) {
    f.transport = "quic";
    f.segment = 1200;
    f.client_datagrams = f.group == "X25519" ? 1 : 2;
    f.extra_round_trips = f.group == "X25519" ? 0 : 2;
    f.parts["QUIC packets"] = f.parts["TLS records"];
    f.parts.erase("TLS records");
  }
  const Calculation c = calculated(in, r);
  expect(c, "full handshake", "ms", 50 + 0.375, 150 + 1.68);
  expect(c, "received by the server, full handshake", "B", 1200 + 80, 2400 + 80);
  expect(c, "0-RTT, until the request may be sent", "ms", 0, 0);
  // RFC 9002 7.2: 12,000 B at 1,200 a datagram, so 20,000 B take two rounds.
  expect(c, "last byte of the first answer, full handshake", "ms", 150.375, 251.68);
}

TEST(Calculator, Http1PaysTheTokenInEachRequest) {
  Inputs in = example();
  in.http = "1.1";
  expect(calculated(in, measured()), "received in tokens, one connection", "B", 4280, 4280);
  in.token_share = 0.5;
  expect(calculated(in, measured()), "received in tokens, one connection", "B", 2140, 2140);
}

TEST(Calculator, ClientCertificatesAreCheckedAndSent) {
  Inputs in = example();
  in.client_certificates = 0.5;
  in.loss = 0;
  EXPECT_NE(refusal(in, measured()).find("with client certificates over tcp"), std::string::npos)
      << refusal(in, measured());
  Record r = measured();
  for (size_t i = 0; i < 2; ++i) {
    ChainRecord c = r.chains[i];
    c.name += ", client certificate";
    c.client_certificate = true;
    r.chains.push_back(c);
    FlightRecord f = r.flights[i];
    f.chain = c.name;
    f.server_flight += 100;
    f.client_flight += i == 0 ? 1000 : 15000;
    r.flights.push_back(f);
  }
  const Calculation c = calculated(in, r);
  expect(c, "check a client's certificate", "us", 3 * 70, 3 * 170);
  expect(c, "mean connection", "us", 882.5 + 0.5 * 0.5 * 210, 2350 + 0.5 * 0.5 * 510);
  expect(c, "sent by the server, full handshake", "B", 1350, 15950);
  expect(c, "received by the server, full handshake", "B", 330 + 500, 1565 + 7500);
  // Half as before; half with the client's own signature and the server's checks, and after the
  // migration one more round trip, since 15,080 B are more than the client's window too.
  expect(c, "full handshake", "ms", 0.5 * 100.375 + 0.5 * 100.61,
         0.5 * 151.68 + 0.5 * (200 + 0.27 + 2 * 1.41));
}

TEST(Calculator, WhatIsNotMeasuredIsSaidWithTheWayToIt) {
  const auto refused = [](auto&& edit) {
    Record r = measured();
    Inputs in = example();
    edit(r, in);
    return refusal(in, r);
  };
  EXPECT_NE(refused([](Record& r, Inputs&) {
              r.tracks.erase(r.tracks.begin() + 1);
            }).find("measure it with 'pqcost run signatures'"),
            std::string::npos);
  EXPECT_NE(refused([](Record& r, Inputs&) { r.tokens.clear(); }).find("'pqcost run tokens'"),
            std::string::npos);
  EXPECT_NE(refused([](Record& r, Inputs&) { r.flights.clear(); }).find("'pqcost run chains'"),
            std::string::npos);
  EXPECT_NE(refused([](Record& r, Inputs&) { r.tracks.pop_back(); }).find("'pqcost run bulk'"),
            std::string::npos);
  EXPECT_NE(refused([](Record&, Inputs& in) {
              in.after.group = "X448";
            }).find("no record has a first flight of chain \"ML-DSA-65\" over tcp with X448"),
            std::string::npos);
  EXPECT_NE(refused([](Record& r, Inputs&) {
              r.withheld = Withheld{"steal"};
            }).find("is withheld: steal"),
            std::string::npos);
}

TEST(Calculator, WithheldFiguresAreTakenOnlyOnDemand) {
  Record r = measured();
  r.withheld = Withheld{"steal"};
  EXPECT_TRUE(calculate(example(), Figures({r}, "OpenSSL", true)));
}

TEST(Calculator, EachTermSaysWhereItIsFrom) {
  const Calculation c = calculated(example(), measured());
  const Term& sign = term(c, "sign CertificateVerify", "us");
  ASSERT_EQ(sign.sources.size(), 2U);
  EXPECT_EQ(sign.sources[1],
            "after: tracks.signatures.ML-DSA-65.Sign.mean_us by OpenSSL 3.5.9 (portable C) in "
            "record 01234567 (2026-11-30T18:30:00Z, lab)");
  const std::string text = to_text(example(), c);
  EXPECT_NE(text.find("DTLS"), std::string::npos);
  EXPECT_NE(text.find("EAP-TLS"), std::string::npos);
  EXPECT_NE(text.find(sign.sources[1]), std::string::npos);
  const auto json = nlohmann::json::parse(to_json(example(), c));
  EXPECT_EQ(json["inputs"]["connections_per_second"], 1000);
  EXPECT_EQ(json["groups"].size(), 4U);
}

TEST(Calculator, NamesAreFoundHoweverTheyAreSpelt) {
  Inputs in = example();
  in.before.chain = "ecdsa-p256";
  EXPECT_EQ(refusal(in, measured()), "");
}

}  // namespace
}  // namespace pqedge::measure
