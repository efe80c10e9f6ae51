#include "wire/http3/priority.h"

#include <gtest/gtest.h>

namespace pqedge::http3 {
namespace {

struct Case {
  const char* value;
  Priority expected;
};

// The examples of RFC 9218 4.1, 4.2 and 7.1.
TEST(Http3Priority, ReadsTheExamplesOfRfc9218) {
  const Case cases[] = {{"u=0", {0, false}},
                        {"u=5, i", {5, true}},
                        {"u=0,\ti", {0, true}},
                        {"i", {3, true}},
                        {"u=7", {7, false}}};
  for (const Case& c : cases) EXPECT_EQ(parse_priority(c.value), c.expected) << c.value;
}

// RFC 9218 4: "must ignore unknown parameters, values out of range, or of an unexpected type".
TEST(Http3Priority, IgnoresWhatDoesNotFit) {
  const Case cases[] = {{"", {3, false}},
                        {"u=8, i", {3, true}},
                        {"u=-1", {3, false}},
                        {"u=1.5, i", {3, true}},
                        {"u=\"1\"", {3, false}},
                        {"u=?1, i=?1", {3, true}},
                        {"i=?0", {3, false}},
                        {"i=1, u=2", {2, false}},
                        {"x=(1 2;a \"b\");p=:YQ==:, u=1", {1, false}},
                        {"u=1;q=tok/en, i;z", {1, true}},
                        {"u=1, u=4", {4, false}},
                        {"  u=2  ", {2, false}},
                        {"u=2 , i", {2, true}}};
  for (const Case& c : cases) EXPECT_EQ(parse_priority(c.value), c.expected) << c.value;
}

// RFC 8941 4.2: a value that does not parse is as if it were not there.
TEST(Http3Priority, WhatIsNoDictionaryIsNothing) {
  for (const char* value :
       {"U=1", "u=1,", "u=1,,i", "u=", "u=1 i", "=1", "u=1, \"x\"", "u=1;", "u=(1", "u=1, i=?2",
        "u=1, x=:a", "u=1, x=\"a", "u=1, x=1.", "u=1, x=1234567890123456", "u=1, x=(1)(2)"}) {
    EXPECT_EQ(parse_priority(value), Priority{}) << value;
  }
}

}  // namespace
}  // namespace pqedge::http3
