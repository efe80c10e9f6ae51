#include "http/names.h"

#include <gtest/gtest.h>

#include <cctype>
#include <random>
#include <set>
#include <string>

#include "base/text.h"

namespace pqedge::http {
namespace {

constexpr auto kCount = static_cast<size_t>(Name::count_);

std::string upper(std::string_view s) {
  std::string out(s);
  for (char& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

TEST(Names, EachIsFoundInAnyCase) {
  std::set<std::string_view> seen;
  for (size_t i = 1; i < kCount; ++i) {
    const auto name = static_cast<Name>(i);
    const std::string_view lower = lower_name(name);
    ASSERT_FALSE(lower.empty());
    EXPECT_TRUE(seen.insert(lower).second) << lower;
    EXPECT_EQ(to_lower(canonical_name(name)), lower);
    EXPECT_TRUE(is_lower_token(lower));
    EXPECT_EQ(known_name(lower), name);
    EXPECT_EQ(known_name(canonical_name(name)), name);
    EXPECT_EQ(known_name(upper(lower)), name);
  }
  EXPECT_EQ(lower_name(Name::other), "");
}

// The hash looks at a few letters with their case folded by 0x20, which turns "@" into "`" and "\r"
// into "-": what differs in one byte anywhere must not pass.
TEST(Names, NoNeighbourIsTakenForOne) {
  for (size_t i = 1; i < kCount; ++i) {
    const std::string_view lower = lower_name(static_cast<Name>(i));
    for (size_t at = 0; at < lower.size(); ++at) {
      for (int c = 0; c < 256; ++c) {
        std::string other(lower);
        other[at] = static_cast<char>(c);
        const Name expected =
            ascii_lower(static_cast<char>(c)) == lower[at] ? static_cast<Name>(i) : Name::other;
        const Name got = known_name(other);
        EXPECT_TRUE(got == expected || lower_name(got) == to_lower(other)) << other;
      }
    }
    EXPECT_EQ(known_name(lower.substr(1)), Name::other) << lower;
    EXPECT_EQ(known_name(std::string(lower) + "x"), Name::other) << lower;
  }
}

TEST(Names, OthersAreOther) {
  for (const char* name : {"", "x", "x-custom", "content_length", "Content-Length ", ":path"}) {
    EXPECT_EQ(known_name(name), Name::other) << name;
  }
  EXPECT_EQ(known_name(std::string(70'000, 'a')), Name::other);
  std::mt19937 random(9110);
  for (int i = 0; i < 100'000; ++i) {
    std::string name(random() % 30, '\0');
    for (char& c : name) c = static_cast<char>(random());
    const Name got = known_name(name);
    EXPECT_TRUE(got == Name::other || to_lower(name) == lower_name(got));
  }
}

// RFC 9110 5.6.2.
TEST(Names, TokensAreWhatTheRfcLists) {
  for (int c = 0; c < 256; ++c) {
    const char byte = static_cast<char>(c);
    const bool expected =
        c < 128 && (std::isalnum(c) != 0 ||
                    std::string_view("!#$%&'*+-.^_`|~").find(byte) != std::string_view::npos);
    EXPECT_EQ(is_token(std::string("a") + byte), expected) << c;
    EXPECT_EQ(is_lower_token(std::string("a") + byte), expected && std::isupper(c) == 0) << c;
  }
  EXPECT_FALSE(is_token(""));
  EXPECT_FALSE(is_lower_token(""));
}

// RFC 9110 5.5; each place of a word of eight bytes is tried, since eight are looked at together.
TEST(Names, FieldValuesHoldNoControlBytes) {
  for (int c = 0; c < 256; ++c) {
    const bool blank = c == ' ' || c == '\t';
    const bool expected = (c >= 0x20 && c != 0x7f) || c == '\t';
    for (size_t size = 1; size <= 20; ++size) {
      for (size_t at = 0; at < size; ++at) {
        std::string value(size, 'v');
        value[at] = static_cast<char>(c);
        const bool at_end = at == 0 || at == size - 1;
        EXPECT_EQ(is_field_value(value), expected && !(blank && at_end)) << c << " at " << at;
      }
    }
  }
  EXPECT_TRUE(is_field_value(""));
  EXPECT_TRUE(is_field_value("\xff\x80 obs-text"));
}

}  // namespace
}  // namespace pqedge::http
