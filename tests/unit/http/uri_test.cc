#include "http/uri.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "unit/http/support.h"

namespace pqedge::http {
namespace {

std::string canonical(std::string_view raw) {
  Arena arena;
  const auto path = canonical_path(raw, arena);
  if (!path) return "refused " + std::to_string(path.error().status);
  return std::string(*path);
}

constexpr std::string_view kTargetRefused = "refused 400";

TEST(CanonicalPath, WhatIsCanonicalIsNotCopied) {
  Arena arena;
  for (const std::string_view raw :
       {"/", "/a", "/a/b/", "/a-b_c~d.e", "/:@!$&'()*+,;=", "/a..b/c..", "/a.", "/a;b=1"}) {
    const auto path = canonical_path(raw, arena);
    ASSERT_TRUE(path.has_value()) << raw;
    EXPECT_EQ(path->data(), raw.data()) << raw;
    EXPECT_EQ(*path, raw);
  }
}

// RFC 3986 6.2.2: the case of hex digits, and octets encoded needlessly.
TEST(CanonicalPath, NormalisesPercentEncoding) {
  EXPECT_EQ(canonical("/%61%62c"), "/abc");
  EXPECT_EQ(canonical("/%7euser"), "/~user");
  EXPECT_EQ(canonical("/a%20b%c3%a9"), "/a%20b%C3%A9");
  EXPECT_EQ(canonical("/%3B%40%3a"), "/;@:");
  EXPECT_EQ(canonical("/%25"), "/%25");
  EXPECT_EQ(canonical("/100%2525"), "/100%2525");
  EXPECT_EQ(canonical("/a%3Fb%23c"), "/a%3Fb%23c");  // not the query, not a fragment
  EXPECT_EQ(canonical("/%5Ba%5D"), "/%5Ba%5D");
}

// Sent raw by browsers and old clients; one spelling for decisions.
TEST(CanonicalPath, EncodesWhatMayNotStandRaw) {
  EXPECT_EQ(canonical("/\xc3\xa9"), "/%C3%A9");
  EXPECT_EQ(canonical("/a|b^c"), "/a%7Cb%5Ec");
  EXPECT_EQ(canonical("/{id}"), "/%7Bid%7D");
  EXPECT_EQ(canonical("/a[0]"), "/a%5B0%5D");
  EXPECT_EQ(canonical("/a\\b"), canonical("/a%5cb"));
  EXPECT_EQ(canonical("/\"<>`"), "/%22%3C%3E%60");
}

TEST(CanonicalPath, MergesEmptySegments) {
  EXPECT_EQ(canonical("//"), "/");
  EXPECT_EQ(canonical("//evil.test//a///b//"), "/evil.test/a/b/");
  EXPECT_EQ(canonical("/a//%2F//b"), "/a/%2F/b");
}

// K64: an encoded slash is no separator, and no dot segment hides behind one.
TEST(CanonicalPath, KeepsEncodedSlashes) {
  EXPECT_EQ(canonical("/api/a%2Fb"), "/api/a%2Fb");
  EXPECT_EQ(canonical("/api/a%2fb"), "/api/a%2Fb");
  EXPECT_EQ(canonical("/%2F%2f"), "/%2F%2F");
  EXPECT_EQ(canonical("/a%252Fb"), "/a%252Fb");
}

TEST(CanonicalPath, RefusesDotSegmentsInAnySpelling) {
  const char* const pieces[] = {".",
                                "..",
                                "%2e",
                                "%2E",
                                "%2e%2e",
                                ".%2E",
                                "%2e.",
                                "..;x",
                                "..;",
                                ".;a=b",
                                "%2e%2e;x",
                                "..%3Bx",
                                "..%253Bx",
                                "%252e%252e",
                                "%252E.",
                                "%25252e%252e",
                                "%25%32%65.",
                                "..%20",
                                "..%2500",
                                "..%00x",
                                "%c0%ae%c0%ae",
                                "%e0%80%ae.",
                                "\xc0\xae.",
                                "%25c0%25ae.",
                                "..%2520",
                                ".%25252525252525252e"};
  const char* const separators[] = {"/",     "\\",      "%2f",    "%5C",       "%252f",
                                    "%255c", "%25252F", "%c0%af", "%e0%80%af", "%c1%9c"};
  for (const std::string piece : pieces) {
    EXPECT_EQ(canonical("/" + piece), kTargetRefused) << piece;
    EXPECT_EQ(canonical("/" + piece + "/b"), kTargetRefused) << piece;
    EXPECT_EQ(canonical("/a/" + piece), kTargetRefused) << piece;
    for (const std::string separator : separators) {
      EXPECT_EQ(canonical("/a" + separator + piece), kTargetRefused) << separator << piece;
      EXPECT_EQ(canonical("/a" + separator + piece + separator + "b"), kTargetRefused);
      EXPECT_EQ(canonical("/" + piece + separator + "b"), kTargetRefused) << piece << separator;
    }
  }
}

TEST(CanonicalPath, DotsInNamesAreNoSegments) {
  for (const char* raw : {"/.well-known/acme-challenge/x", "/...", "/..a", "/a..", "/.a.",
                          "/a/..b/c", "/.git", "/a;..", "/a;/.b", "/.%2Ea", "/..%2Dx"}) {
    EXPECT_NE(canonical(raw), kTargetRefused) << raw;
  }
  EXPECT_EQ(canonical("/%2egit"), "/.git");
  EXPECT_EQ(canonical("/.%2Ea"), "/..a");
}

TEST(CanonicalPath, RefusesControlBytesAndBrokenEncoding) {
  for (int c = 0; c < 256; ++c) {
    const bool control = c < 0x20 || c == 0x7f;
    char encoded[8];
    std::snprintf(encoded, sizeof encoded, "/a%%%02xb", c);
    EXPECT_EQ(canonical(encoded) == kTargetRefused, control) << c;
    const std::string raw = {'/', 'a', static_cast<char>(c), 'b'};
    const bool never_raw = control || c == ' ' || c == '#' || c == '?' || c == '%';
    EXPECT_EQ(canonical(raw) == kTargetRefused, never_raw) << c;
  }
  for (const char* raw : {"/%", "/%2", "/%g0", "/%0g", "/a%u002e", "/%%32e", "/%-1"}) {
    EXPECT_EQ(canonical(raw), kTargetRefused) << raw;
  }
}

TEST(CanonicalPath, BeginsWithASlash) {
  for (const char* raw : {"", "a", "*", "%2Fa", "\\a", "http://a/"}) {
    EXPECT_EQ(canonical(raw), kTargetRefused) << raw;
  }
}

TEST(CanonicalPath, IsItsOwnCanonicalForm) {
  constexpr std::string_view kPieces[] = {"/",  "%2f",    "%2e",  ".",  "%25",   "2e",
                                          "a",  "%C3%a9", "\xff", "\\", "%5c",   ";",
                                          "//", "%41",    "|",    "2F", "%252F", "5"};
  std::mt19937 random(3986);
  int accepted = 0;
  for (int i = 0; i < 50'000; ++i) {
    std::string raw = "/";
    for (size_t n = random() % 8; n > 0; --n) raw += kPieces[random() % std::size(kPieces)];
    const std::string once = canonical(raw);
    if (once == kTargetRefused) continue;
    ++accepted;
    EXPECT_EQ(canonical(once), once) << raw;
  }
  EXPECT_GT(accepted, 10'000);
}

// Decoding until nothing is left takes one pass, not one a level.
TEST(CanonicalPath, DeepNestingIsDecodedInLinearTime) {
  std::string raw = "/%";
  for (int i = 0; i < 8'000; ++i) raw += "25";
  EXPECT_EQ(canonical(raw + "61"), raw + "61");
  EXPECT_EQ(canonical(raw + "2e."), kTargetRefused);
}

// ---- the whole request --------------------------------------------------------------------------

struct Outcome {
  uint16_t status;
  std::string host, path, query;
  uint16_t port;
};

Outcome canonicalised(std::string_view authority, std::string_view target,
                      Method method = Method::get, Version version = Version::http11) {
  Arena arena;
  Request r(arena);
  r.version = version;
  r.method = method;
  r.authority = authority;
  r.target = target;
  const auto ok = canonicalise(r);
  return {ok ? uint16_t{0} : ok.error().status, std::string(r.host), std::string(r.path),
          std::string(r.query), r.port};
}

TEST(Canonicalise, SplitsPathAndQuery) {
  const Outcome o = canonicalised("A.Test:8443", "/a%20b//c?x=%zz&y=/../?&z=\xc3\xa9");
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(o.host, "a.test");
  EXPECT_EQ(o.port, 8443);
  EXPECT_EQ(o.path, "/a%20b/c");
  EXPECT_EQ(o.query, "x=%zz&y=/../?&z=\xc3\xa9");
  EXPECT_EQ(canonicalised("a.test", "/?").status, 0);
  EXPECT_EQ(canonicalised("a.test", "/?a#b").status, 400);
  EXPECT_EQ(canonicalised("a.test", "/?a b").status, 400);
  EXPECT_EQ(canonicalised("a.test", std::string_view("/?a\0b", 5)).status, 400);
  EXPECT_EQ(canonicalised("a.test", "/?a\x7f").status, 400);
}

TEST(Canonicalise, AsteriskIsForOptions) {  // RFC 9112 3.2.4
  EXPECT_EQ(canonicalised("a.test", "*", Method::options).path, "*");
  EXPECT_EQ(canonicalised("a.test", "*").status, 400);
  EXPECT_EQ(canonicalised("a.test", "*x", Method::options).status, 400);
}

TEST(Canonicalise, ConnectHasAnAuthorityOnly) {  // RFC 9110 9.3.6
  const Outcome o = canonicalised("a.test:25", "", Method::connect);
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(o.host, "a.test");
  EXPECT_EQ(o.port, 25);
  EXPECT_EQ(o.path, "");
}

TEST(Canonicalise, AHostIsNeeded) {
  EXPECT_EQ(canonicalised("", "/").status, 400);
  EXPECT_EQ(canonicalised("", "/", Method::get, Version::http2).status, 400);
  EXPECT_EQ(canonicalised("", "/", Method::get, Version::http10).status, 0);
  EXPECT_EQ(canonicalised("a b", "/", Method::get, Version::http10).status, 400);
}

TEST(RawBehind, WhatIsBehindAPrefixAsItCame) {
  EXPECT_EQ(raw_behind("/api/x%2f%41", 4), "/x%2f%41");
  EXPECT_EQ(raw_behind("/%61pi/x", 4), "/x");
  EXPECT_EQ(raw_behind("//api//x", 4), "//x");
  EXPECT_EQ(raw_behind("/a%2fb/x", 6), "/x");
  EXPECT_EQ(raw_behind("/a\\b/x", 6), "/x") << "a raw byte that is encoded in the canonical path";
  EXPECT_EQ(raw_behind("/api", 4), "");
  EXPECT_EQ(raw_behind("/x", 0), "/x");
}

}  // namespace
}  // namespace pqedge::http
