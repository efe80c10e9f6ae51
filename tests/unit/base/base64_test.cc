#include "base/base64.h"

#include <gtest/gtest.h>

namespace pqedge {
namespace {

// The test vectors of RFC 4648 10.
TEST(Base64, HasTheVectorsOfTheRfc) {
  constexpr std::pair<std::string_view, std::string_view> kVectors[] = {{"", ""},
                                                                        {"f", "Zg=="},
                                                                        {"fo", "Zm8="},
                                                                        {"foo", "Zm9v"},
                                                                        {"foob", "Zm9vYg=="},
                                                                        {"fooba", "Zm9vYmE="},
                                                                        {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : kVectors) {
    EXPECT_EQ(base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
    const std::string_view bare = text.substr(0, text.find('='));
    EXPECT_EQ(base64url(bytes), bare);
    EXPECT_EQ(from_base64url(bare), bytes);
    EXPECT_EQ(from_any_base64(text), bytes);
    EXPECT_EQ(from_any_base64(bare), bytes);
  }
}

TEST(Base64, HasTwoAlphabets) {
  constexpr std::string_view kBytes = "\xfb\xff\xfe";
  EXPECT_EQ(base64(kBytes), "+//+");
  EXPECT_EQ(base64url(kBytes), "-__-");
  EXPECT_EQ(from_base64("+//+"), kBytes);
  EXPECT_FALSE(from_base64("-__-"));
  EXPECT_EQ(from_base64url("-__-"), kBytes);
  EXPECT_FALSE(from_base64url("+//+"));
  EXPECT_EQ(from_any_base64("+__/"), "\xfb\xff\xff");
}

TEST(Base64, TakesNothingElse) {
  for (const std::string_view text :
       {"Z", "Zg", "Zg=", "Zm9v\n", "Zm9v Zg", "=", "====", "Z===", "Zg==Zg=="}) {
    EXPECT_FALSE(from_base64(text)) << text;
  }
  for (const std::string_view text : {"Z", "Zg==", "Zm9v\n", "Zm9v.Zg"}) {
    EXPECT_FALSE(from_base64url(text)) << text;
  }
  EXPECT_FALSE(from_any_base64("Zm9v YmE"));
  EXPECT_FALSE(from_any_base64("Z"));
}

// RFC 4648 3.5: two texts must not stand for the same bytes where a signature is over the text.
TEST(Base64, LeavesNoBitOver) {
  EXPECT_FALSE(from_base64("Zh=="));
  EXPECT_FALSE(from_base64url("Zh"));
  EXPECT_EQ(from_any_base64("Zh"), "f");
}

TEST(Base64, KnowsItsAlphabetForUrls) {
  EXPECT_TRUE(is_base64url("aZ09-_"));
  for (const std::string_view text : {"", "a=", "a+", "a/", "a b", "a\xc3\xa4"}) {
    EXPECT_FALSE(is_base64url(text)) << text;
  }
}

TEST(Base64, EveryLengthComesBack) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(from_base64(base64(bytes)), bytes);
    EXPECT_EQ(from_base64url(base64url(bytes)), bytes);
    bytes += static_cast<char>(i * 37);
  }
}

}  // namespace
}  // namespace pqedge
