#include "base/text.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace pqedge {
namespace {

TEST(Text, ComparesAsciiLettersWithoutCase) {
  EXPECT_TRUE(iequals("Content-Length", "cONTENT-lENGTH"));
  EXPECT_FALSE(iequals("a", "ab"));
  EXPECT_FALSE(iequals("@", "`"));  // 0x40 and 0x60 differ in the same bit as letters do
  EXPECT_FALSE(iequals("\xc0", "\xe0"));
  EXPECT_EQ(to_lower("AbC[\xc4"), "abc[\xc4");
}

TEST(Text, HexBothWays) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_EQ(from_hex(to_hex(as_bytes(all))), all);
  EXPECT_EQ(from_hex("00FFab"), std::string("\x00\xff\xab", 3));
  EXPECT_EQ(from_hex(""), "");
  for (const char* bad : {"0", "0g", "0x", "00 ", "\xff\xff"}) EXPECT_FALSE(from_hex(bad)) << bad;
}

TEST(Text, DecimalsAreStrict) {
  EXPECT_EQ(parse_decimal("0"), 0u);
  EXPECT_EQ(parse_decimal("007"), 7u);
  EXPECT_EQ(parse_decimal("18446744073709551615"), UINT64_MAX);
  for (const char* bad :
       {"", "18446744073709551616", "99999999999999999999", "000000000000000000001", "+1", "-1",
        " 1", "1 ", "1.0", "0x1", "1e3", "\xd9\xa1"}) {
    EXPECT_FALSE(parse_decimal(bad)) << bad;
  }
}

std::vector<std::string> members(std::string_view list) {
  std::vector<std::string> all;
  for_each_member(list, [&](std::string_view m) { all.emplace_back(m); });
  return all;
}

TEST(Text, ListsSkipEmptyMembers) {  // RFC 9110 5.6.1.2
  EXPECT_EQ(members("foo ,bar,"), (std::vector<std::string>{"foo", "bar"}));
  EXPECT_EQ(members("foo , ,bar,charlie"), (std::vector<std::string>{"foo", "bar", "charlie"}));
  EXPECT_EQ(members(",   ,"), std::vector<std::string>{});
  EXPECT_EQ(members(""), std::vector<std::string>{});
  EXPECT_EQ(members("\ta b\t"), std::vector<std::string>{"a b"});
}

TEST(Text, TrimsSpacesAndTabsOnly) {
  EXPECT_EQ(trim_ows(" \t a b\t "), "a b");
  EXPECT_EQ(trim_ows("\va\v"), "\va\v");
  EXPECT_EQ(trim_ows("  "), "");
}

std::string json_of(std::string_view s) {
  std::string out;
  append_json_escaped(out, s);
  return out;
}

// K67: whatever a client sends, a line of the log is one line of valid UTF-8 JSON.
TEST(Text, JsonEscapesControlBytesAndQuotes) {
  EXPECT_EQ(json_of("plain / text"), "plain / text");
  EXPECT_EQ(json_of("a\"b\\c"), "a\\\"b\\\\c");
  EXPECT_EQ(json_of("\r\n\x1b[31m"), "\\u000d\\u000a\\u001b[31m");
  EXPECT_EQ(json_of(std::string_view("\0", 1)), "\\u0000");
  EXPECT_EQ(json_of("\x7f"), "\\u007f");
}

TEST(Text, JsonKeepsWellFormedUtf8Only) {
  EXPECT_EQ(json_of("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x92\xa9"),
            "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x92\xa9");
  EXPECT_EQ(json_of("\xc2\x85\xc2\x9f"), "\\u0085\\u009f");          // C1 controls
  EXPECT_EQ(json_of("\xe2\x80\xa8\xe2\x80\xa9"), "\\u2028\\u2029");  // line separators
  // Unicode 15, table 3-7: overlong forms, surrogates, beyond U+10FFFF, cut sequences, lone bytes.
  const std::string r = "\\ufffd";
  EXPECT_EQ(json_of("\xff"), r);
  EXPECT_EQ(json_of("\x80"), r);
  EXPECT_EQ(json_of("\xc0\xaf"), r + r);
  EXPECT_EQ(json_of("\xe0\x80\xaf"), r + r + r);
  EXPECT_EQ(json_of("\xed\xa0\x80"), r + r + r);
  EXPECT_EQ(json_of("\xf4\x90\x80\x80"), r + r + r + r);
  EXPECT_EQ(json_of("\xf0\x8f\xbf\xbf"), r + r + r + r);
  EXPECT_EQ(json_of("a\xe2\x82"), "a" + r + r);
  EXPECT_EQ(json_of("\xe2\x82z"), r + r + "z");
  EXPECT_EQ(json_of("\xf0\x9f\x92"), r + r + r);
}

TEST(Text, PlainTextEscapesAllButPrintableAscii) {
  std::string out;
  append_text_escaped(out, "a\\b\r\n\x1b\xc3\xa9\x7f~");
  EXPECT_EQ(out, "a\\x5cb\\x0d\\x0a\\x1b\\xc3\\xa9\\x7f~");
}

TEST(Text, ClosestWord) {
  const std::array<std::string_view, 3> words = {"listeners", "routes", "timeouts"};
  EXPECT_EQ(closest("listener", words), "listeners");
  EXPECT_EQ(closest("rotues", words), "routes");
  EXPECT_EQ(closest("zzzzzz", words), "");
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
}

TEST(Bytes, NetworkOrder) {
  uint8_t b[8];
  store_be64(b, 0x0102030405060708);
  EXPECT_EQ(b[0], 1);
  EXPECT_EQ(b[7], 8);
  EXPECT_EQ(load_be64(b), 0x0102030405060708u);
  EXPECT_EQ(load_be32(b), 0x01020304u);
  EXPECT_EQ(load_be24(b), 0x010203u);
  EXPECT_EQ(load_be16(b), 0x0102u);
  const uint8_t high[] = {0xff, 0xfe, 0xfd, 0xfc};
  EXPECT_EQ(load_be32(high), 0xfffefdfcu);
  store_be16(b, 0xfffe);
  store_be32(b + 2, 0xfffefdfc);
  EXPECT_EQ(load_be16(b), 0xfffe);
  EXPECT_EQ(load_be32(b + 2), 0xfffefdfcu);
}

TEST(Result, SaysWhatAndWhy) {
  const Result<int> r = fail_errno(ENOENT, "cannot read {}", "x.pem");
  ASSERT_FALSE(r.has_value());
  EXPECT_EQ(r.error().message, "cannot read x.pem: No such file or directory");
  EXPECT_EQ(r.error().code, ENOENT);
  const Result<int> plain = fail("bad {}", 1);
  EXPECT_EQ(plain.error().message, "bad 1");
  EXPECT_EQ(plain.error().code, 0);
}

}  // namespace
}  // namespace pqedge
