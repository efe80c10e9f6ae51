#include "http/priority.h"

#include <gtest/gtest.h>

namespace pqedge::http {
namespace {

struct Case {
  const char* value;
  Priority expected;
};

// The examples of RFC 9218 4.1, 4.2 and 7.1.
TEST(PriorityField, ReadsTheExamplesOfRfc9218) {
  const Case cases[] = {{"u=0", {0, false}},
                        {"u=5, i", {5, true}},
                        {"u=0,\ti", {0, true}},
                        {"i", {3, true}},
                        {"u=7", {7, false}}};
  for (const Case& c : cases) EXPECT_EQ(parse_priority(c.value), c.expected) << c.value;
}

// RFC 9218 4: "must ignore unknown parameters, values out of range, or of an unexpected type".
TEST(PriorityField, IgnoresWhatDoesNotFit) {
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
TEST(PriorityField, WhatIsNoDictionaryIsNothing) {
  for (const char* value :
       {"U=1", "u=1,", "u=1,,i", "u=", "u=1 i", "=1", "u=1, \"x\"", "u=1;", "u=(1", "u=1, i=?2",
        "u=1, x=:a", "u=1, x=\"a", "u=1, x=1.", "u=1, x=1234567890123456", "u=1, x=(1)(2)"}) {
    EXPECT_EQ(parse_priority(value), Priority{}) << value;
  }
}

// RFC 9218 8: of an answer's field counts what it says, and the rest is the client's.
TEST(PriorityField, AnAnswerChangesWhatItNames) {
  const Priority client{1, true};
  EXPECT_EQ(parse_priority("u=5", client), (Priority{5, true}));
  EXPECT_EQ(parse_priority("i=?0", client), (Priority{1, false}));
  EXPECT_EQ(parse_priority("u=5, i=?0", client), (Priority{5, false}));
  EXPECT_EQ(parse_priority("u=9, i=3, x", client), client);
  EXPECT_EQ(parse_priority("", client), client);
  EXPECT_EQ(parse_priority("u=5, u", client), client);
  EXPECT_EQ(parse_priority("u=5 i", client), client);
}

}  // namespace
}  // namespace pqedge::http
