#include "route/header_rules.h"

#include <gtest/gtest.h>

#include "unit/route/scene.h"

namespace pqedge::route {
namespace {

using RuleKind = HeaderRule::Kind;
using Lines = std::vector<std::string>;
using Side = HeaderRules::Side;

HeaderRules rules(std::vector<HeaderRule> own, Side side = Side::request,
                  const std::vector<HeaderRule>& common = {}) {
  auto compiled = HeaderRules::compile(common, own, side);
  EXPECT_TRUE(compiled.has_value()) << (compiled ? "" : compiled.error().message);
  return compiled ? std::move(*compiled) : HeaderRules();
}

Lines after(const HeaderRules& r, TestScene& t) {
  r.apply(t.request.fields, t.scene());
  return t.lines();
}

TEST(HeaderRules, SetAddAndRemoveInTheirOrder) {
  TestScene t;
  t.request.fields.add("X-A", "1");
  t.request.fields.add("x-a", "2");
  t.request.fields.add("X-B", "3");
  t.request.fields.add("X-C", "4");
  const auto r = rules({{RuleKind::set, "X-A", "new"},
                        {RuleKind::add, "X-B", "5"},
                        {RuleKind::remove, "x-c", ""},
                        {RuleKind::add, "X-C", "6"}});
  EXPECT_EQ(after(r, t), (Lines{"X-B: 3", "X-A: new", "X-B: 5", "X-C: 6"}));
}

TEST(HeaderRules, TheRulesOfAllRoutesComeFirst) {
  TestScene t;
  const std::vector<HeaderRule> common = {{RuleKind::set, "X-A", "common"},
                                          {RuleKind::set, "X-B", "common"}};
  EXPECT_EQ(after(rules({{RuleKind::set, "X-A", "own"}}, Side::request, common), t),
            (Lines{"X-B: common", "X-A: own"}));
}

TEST(HeaderRules, KnownNamesGoByTheirNumber) {
  TestScene t;
  t.request.fields.add("user-agent", "curl");
  // What they set points into them, as a request's does into its route.
  const auto r = rules({{RuleKind::set, "User-Agent", "edge"}});
  EXPECT_EQ(after(r, t), (Lines{"User-Agent: edge"}));
  EXPECT_EQ(t.request.fields.get(http::Name::user_agent), "edge");
}

TEST(HeaderRules, AValueMaySpeakOfTheFieldThatItReplaces) {
  TestScene t;
  t.request.fields.add("X-Path", "/x");
  EXPECT_EQ(after(rules({{RuleKind::set, "X-Path", "${header.x-path}/y"}}), t),
            Lines{"X-Path: /x/y"});
}

TEST(HeaderRules, AnEmptyValueIsNotSent) {
  TestScene t;
  t.request.fields.add("X-Subject", "forged");
  EXPECT_EQ(after(rules({{RuleKind::set, "X-Subject", "${client_subject}"},
                         {RuleKind::add, "X-D", "${header.none}"}}),
                  t),
            Lines{});
}

TEST(HeaderRules, RemoveByTheFrontOfANameLeavesTheFraming) {
  TestScene t;
  for (const char* name : {"X-Int-A", "x-int-b", "X_Int_C", "X-Interest", "Content-Length"}) {
    t.request.fields.add(name, "1");
  }
  EXPECT_EQ(after(rules({{RuleKind::remove, "X-Int-*", ""}}), t),
            (Lines{"X-Interest: 1", "Content-Length: 1"}));
  EXPECT_EQ(after(rules({{RuleKind::remove, "*", ""}}), t), Lines{"Content-Length: 1"});
}

// K50: a backend takes the client's own spelling for the name that the rule sets.
TEST(HeaderRules, OtherSpellingsOfWhatIsSetDoNotArrive) {
  TestScene t;
  const auto forge = [&](http::Fields& fields) {
    for (const char* name : {"X_Team", "x.team", "X-TEAM", "X~Team", "X_team", "XTeam"}) {
      fields.add(name, "forged");
    }
  };
  forge(t.request.fields);
  const auto r = rules({{RuleKind::set, "X-Team", "blue"}});
  EXPECT_EQ(after(r, t), (Lines{"XTeam: forged", "X-Team: blue"}));
  forge(t.request.trailers);
  r.strip_trailers(t.request.trailers);
  EXPECT_EQ(t.request.trailers.size(), 1u);
}

TEST(HeaderRules, AddKeepsTheClientsOwnInThatSpellingAlone) {
  TestScene t;
  t.request.fields.add("x-tag", "theirs");
  t.request.fields.add("X_Tag", "forged");
  EXPECT_EQ(after(rules({{RuleKind::add, "X-Tag", "ours"}}), t),
            (Lines{"x-tag: theirs", "X-Tag: ours"}));
}

TEST(HeaderRules, TowardClientsTheNameAloneIsMeant) {
  TestScene t;
  t.request.fields.add("X_Team", "1");
  t.request.fields.add("x-team", "2");
  EXPECT_EQ(after(rules({{RuleKind::remove, "X-Team", ""}}, Side::response), t),
            Lines{"X_Team: 1"});
}

// K68: the one exception for old peers.
TEST(HeaderRules, ALengthOn101Alone) {
  const auto r = rules({{RuleKind::set, "Content-Length", "0"}}, Side::response);
  TestScene t;
  Scene scene = t.scene();
  scene.status = 200;
  r.apply(t.request.fields, scene);
  EXPECT_EQ(t.lines(), Lines{});
  scene.status = 101;
  r.apply(t.request.fields, scene);
  EXPECT_EQ(t.lines(), Lines{"Content-Length: 0"});
}

TEST(HeaderRules, WhatBelongsToTheConnectionCannotBeChanged) {
  for (const char* name : {"connection", "Content-Length", "Transfer-Encoding", "TE", "Upgrade",
                           "trailer", "Keep-Alive"}) {
    EXPECT_FALSE(is_changeable(name, Side::request)) << name;
    EXPECT_FALSE(is_changeable(name, Side::response)) << name;
  }
  EXPECT_FALSE(is_changeable("Host", Side::request));
  EXPECT_TRUE(is_changeable("Server", Side::response));
  EXPECT_TRUE(is_changeable("X-Forwarded-For", Side::request));
}

}  // namespace
}  // namespace pqedge::route
