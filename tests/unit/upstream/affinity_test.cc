#include "upstream/affinity.h"

#include <gtest/gtest.h>

namespace pqedge::upstream {
namespace {

class Affinity : public ::testing::Test {
 protected:
  void cookie(std::string_view text) { request_.fields.add(http::Name::cookie, text); }
  Arena arena_;
  http::Request request_{arena_};
};

TEST_F(Affinity, FindsACookieByItsWholeName) {
  cookie("xsid=1; sid =2; sidx=3; sid=a=b ;sid=4");
  EXPECT_EQ(cookie_value(request_.fields, "sid"), "a=b");
  EXPECT_EQ(cookie_value(request_.fields, "sidx"), "3");
  EXPECT_EQ(cookie_value(request_.fields, "id").data(), nullptr);
  EXPECT_EQ(cookie_value(request_.fields, "SID").data(), nullptr) << "names have a case";
}

TEST_F(Affinity, FindsACookieInSeveralFields) {  // RFC 9113 8.2.3
  cookie("a=1");
  cookie("b=2");
  EXPECT_EQ(cookie_value(request_.fields, "b"), "2");
}

TEST_F(Affinity, KeysOfAddressesFieldsAndCookies) {
  cookie("sid=1");
  request_.fields.add("x-user", "alice");
  using Kind = KeySource::Kind;
  const auto key = [&](Kind kind, std::string name, std::string_view ip = "192.0.2.1") {
    return key_hash({kind, std::move(name)}, request_, ip);
  };
  EXPECT_EQ(key(Kind::none, ""), 0u);
  EXPECT_NE(key(Kind::client_ip, ""), key(Kind::client_ip, "", "192.0.2.2"));
  EXPECT_EQ(key(Kind::client_ip, "", "2001:db8:1:2::1"),
            key(Kind::client_ip, "", "2001:db8:1:2:3::9"))
      << "one host";
  EXPECT_NE(key(Kind::client_ip, "", "2001:db8:1:2::1"),
            key(Kind::client_ip, "", "2001:db8:1:3::1"));
  EXPECT_NE(key(Kind::header, "X-User"), 0u);
  EXPECT_EQ(key(Kind::header, "X-Other"), 0u);
  EXPECT_NE(key(Kind::cookie, "sid"), 0u);
  EXPECT_EQ(key(Kind::cookie, "other"), 0u);
}

TEST_F(Affinity, ATieCookieNamesTheMemberUntilItsTime) {
  const std::string_view text =
      make_tie_cookie("srv", 0xabc, 3600 * kSecond, 1'000'000, true, arena_);
  EXPECT_EQ(text,
            "srv=0000000000000abc-f5050; Path=/; HttpOnly; SameSite=Lax; Max-Age=3600; Secure");
  const std::string_view value = text.substr(4, text.find(';') - 4);
  EXPECT_EQ(member_of_cookie(value, 1'003'599), 0xabcu);
  EXPECT_EQ(member_of_cookie(value, 1'003'600), 0u);
  EXPECT_EQ(make_tie_cookie("srv", 1, 0, 1'000'000, false, arena_),
            "srv=0000000000000001; Path=/; HttpOnly; SameSite=Lax");
  EXPECT_EQ(member_of_cookie("0000000000000001", UINT64_MAX), 1u);
}

TEST_F(Affinity, ACookieThatIsNoneOfOursTiesToNobody) {
  for (const char* text :
       {"", "1", "000000000000000", "000000000000000g", "0000000000000001-", "0000000000000001-x",
        "0000000000000001x", "0000000000000001-fffffffffffffffff"}) {
    EXPECT_EQ(member_of_cookie(text, 0), 0u) << text;
  }
}

TEST(TableOfTies, KeepsATieFromTheLastRequestOn) {
  Ties ties(64);
  EXPECT_EQ(ties.find(1, kSecond, 10 * kSecond), 0u);
  EXPECT_EQ(ties.claim(1, 7, 0, kSecond, 10 * kSecond), 7u);
  EXPECT_EQ(ties.find(1, 10 * kSecond, 10 * kSecond), 7u);
  EXPECT_EQ(ties.find(1, 19 * kSecond, 10 * kSecond), 7u);
  EXPECT_EQ(ties.find(1, 29 * kSecond, 10 * kSecond), 0u);
}

TEST(TableOfTies, TheFirstClaimHolds) {
  Ties ties(64);
  EXPECT_EQ(ties.claim(1, 7, 0, kSecond, kSecond), 7u);
  EXPECT_EQ(ties.claim(1, 8, 0, kSecond, kSecond), 7u)
      << "another request of the client was faster";
  EXPECT_EQ(ties.claim(1, 8, 7, kSecond, kSecond), 8u) << "in place of one that is gone";
}

TEST(TableOfTies, IsBoundedAndForgetsTheOldest) {
  Ties ties(1024);
  for (uint64_t key = 1; key <= 100'000; ++key) {
    ties.claim(key, key, 0, kSecond + key, 3600 * kSecond);
  }
  size_t known = 0;
  for (uint64_t key = 1; key <= 100'000; ++key) {
    known += ties.find(key, 2 * kSecond, 3600 * kSecond) == key ? 1 : 0;
  }
  EXPECT_LE(known, 1024u);
  EXPECT_GT(known, 900u);
  EXPECT_EQ(ties.find(100'000, 2 * kSecond, 3600 * kSecond), 100'000u);
}

TEST(TableOfTies, GoesOverToAnotherProcess) {
  constexpr Nanos kHour = 3600 * kSecond;
  Ties ties(4096);
  for (uint64_t key = 1; key <= 100; ++key) ties.claim(key, key + 1000, 0, key * kSecond, kHour);
  const auto known = ties.known(40);  // those seen last
  ASSERT_EQ(known.size(), 40u);
  Ties next(1024);
  next.claim(70, 5, 0, 100 * kSecond, kHour);
  next.add(known);
  EXPECT_EQ(next.find(70, 101 * kSecond, kHour), 5u) << "what is there is newer";
  size_t there = 0;
  for (uint64_t key = 61; key <= 100; ++key) {
    const uint64_t member = next.find(key, 101 * kSecond, kHour);
    there += member == (key == 70 ? 5 : key + 1000);
  }
  EXPECT_EQ(there, 40u);
  EXPECT_EQ(next.find(1, 101 * kSecond, kHour), 0u);
  Ties all(4096);
  all.add(ties.known(1000));
  EXPECT_EQ(all.find(1, kSecond + kHour - 1, kHour), 1001u);
  EXPECT_EQ(all.find(2, 2 * kSecond + kHour, kHour), 0u) << "its time is over";
}

TEST(TableOfTies, GoesOverToOneOfAnotherSize) {
  Ties small(64);
  small.claim(1, 7, 0, kSecond, kSecond);
  Ties large(4096);
  large.take_from(small);
  EXPECT_EQ(large.find(1, kSecond, kSecond), 7u);
}

}  // namespace
}  // namespace pqedge::upstream
