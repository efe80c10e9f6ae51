// Each rule of the grade applies to what it names, and to nothing else.
#include "probe/grade.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "probe/hello.h"

namespace pqedge::probe {
namespace {

// A server about which there is nothing to say.
Report good() {
  Report r;
  r.versions = {{.version = kTls13, .accepted = true, .cipher = 0x1302, .detail = {}},
                {.version = kTls12, .accepted = true, .cipher = 0xc02f, .detail = {}},
                {.version = kTls11, .accepted = false, .cipher = 0, .detail = "an alert"},
                {.version = kTls10, .accepted = false, .cipher = 0, .detail = "an alert"},
                {.version = kSsl3, .accepted = false, .cipher = 0, .detail = "an alert"}};
  r.groups = {0x11ec, 0x001d};
  r.default_group = 0x11ec;
  r.hybrid_client.yes = r.asks_for_post_quantum.yes = true;
  r.large_hello.yes = r.two_segments.yes = r.two_records.yes = true;
  r.unknown_group.yes = r.grease.yes = true;
  r.static_rsa.yes = false;
  r.quic.accepted.yes = true;
  r.quic.group = 0x11ec;
  ChainReport chain;
  chain.trusted = true;
  chain.certificates.resize(1);
  r.chains.push_back(chain);
  return r;
}

struct Case {
  const char* rule;
  Grade cap;
  std::function<void(Report&)> spoil;
};

const Case kCases[] = {
    {"untrusted-certificate", Grade::f, [](Report& r) { r.chains[0].trusted = false; }},
    {"ssl3", Grade::f, [](Report& r) { r.versions[4].accepted = true; }},
    {"weak-certificate", Grade::e, [](Report& r) { r.chains[0].certificates[0].weak = true; }},
    {"hybrid-client-fails", Grade::d, [](Report& r) { r.hybrid_client.yes = false; }},
    {"split-hello", Grade::d, [](Report& r) { r.two_records.yes = false; }},
    {"intolerant", Grade::d, [](Report& r) { r.grease.yes = false; }},
    {"retry-fails", Grade::d,
     [](Report& r) {
       r.retry_fails = true;
       r.asks_for_post_quantum.yes = false;
     }},
    {"no-tls-1.3", Grade::d, [](Report& r) { r.versions[0].accepted = false; }},
    {"old-tls", Grade::c, [](Report& r) { r.versions[2].accepted = true; }},
    {"static-rsa", Grade::c, [](Report& r) { r.static_rsa.yes = true; }},
    {"no-post-quantum", Grade::c,
     [](Report& r) {
       r.groups = {0x001d, 0x6399};  // Kyber's draft does not count
       r.default_group = 0x001d;
     }},
    {"keeps-classical-share", Grade::b, [](Report& r) { r.asks_for_post_quantum.yes = false; }},
    {"prefers-classical", Grade::b, [](Report& r) { r.groups = {0x001d, 0x11ec}; }},
    {"quic-classical", Grade::b, [](Report& r) { r.quic.group = 0x001d; }},
};

TEST(ProbeGrade, AServerWithoutFaultsIsA) {
  const Verdict verdict = judge(good());
  EXPECT_EQ(verdict.grade, Grade::a);
  EXPECT_TRUE(verdict.applied.empty());
}

TEST(ProbeGrade, EachRuleAppliesAlone) {
  for (const Case& c : kCases) {
    Report report = good();
    c.spoil(report);
    const Verdict verdict = judge(report);
    ASSERT_EQ(verdict.applied.size(), 1U) << c.rule;
    EXPECT_EQ(verdict.applied[0]->id, c.rule);
    EXPECT_EQ(verdict.grade, c.cap) << c.rule;
  }
}

TEST(ProbeGrade, EveryRuleHasItsCase) {
  ASSERT_EQ(rules().size(), std::size(kCases));
  for (const Rule& rule : rules()) {
    EXPECT_TRUE(std::ranges::any_of(kCases, [&](const Case& c) { return rule.id == c.rule; }))
        << rule.id;
    EXPECT_FALSE(rule.source.empty()) << rule.id;
    EXPECT_FALSE(rule.reason.empty()) << rule.id;
    EXPECT_NE(rules_text().find(rule.id), std::string::npos);
  }
}

TEST(ProbeGrade, TheWorstCountsAndStandsFirst) {
  Report report = good();
  report.asks_for_post_quantum.yes = false;
  report.chains[0].trusted = false;
  report.versions[3].accepted = true;
  const Verdict verdict = judge(report);
  EXPECT_EQ(verdict.grade, Grade::f);
  ASSERT_EQ(verdict.applied.size(), 3U);
  EXPECT_EQ(verdict.applied[0]->id, "untrusted-certificate");
  EXPECT_EQ(verdict.applied[2]->id, "keeps-classical-share");
  report.ignore_trust = true;
  EXPECT_EQ(judge(report).grade, Grade::c);
}

TEST(ProbeGrade, WhatWasNotAskedSpoilsNothing) {
  Report report = good();
  report.quic = {};
  report.static_rsa = report.asks_for_post_quantum = {};
  EXPECT_EQ(judge(report).grade, Grade::a);
}

TEST(ProbeGrade, Letters) {
  EXPECT_EQ(letter(Grade::a), 'A');
  EXPECT_EQ(letter(Grade::f), 'F');
  EXPECT_EQ(parse_grade("b"), Grade::b);
  EXPECT_EQ(parse_grade("F"), Grade::f);
  EXPECT_FALSE(parse_grade("G"));
  EXPECT_FALSE(parse_grade("A+"));
  EXPECT_FALSE(parse_grade(""));
}

}  // namespace
}  // namespace pqedge::probe
