#include "route/spelling.h"

#include <gtest/gtest.h>

#include "unit/route/scene.h"

namespace pqedge::route {
namespace {

std::vector<std::string> spelled(const SpellingSettings& settings) {
  const Spelling spelling(settings);
  TestScene t;
  for (const char* name : {"x-camel-case", "soapaction", "content-type", "X-Kept", "te-é"}) {
    t.request.fields.add(name, "1");
  }
  spelling.apply(t.request.fields);
  std::vector<std::string> names;
  t.request.fields.for_each([&](const http::Field& f) { names.emplace_back(f.name); });
  return names;
}

using Names = std::vector<std::string>;

TEST(Spelling, NamedOnesAlone) {  // K68
  EXPECT_EQ(spelled({.names = {"SOAPAction", "X-CAMEL-case"}}),
            (Names{"X-CAMEL-case", "SOAPAction", "content-type", "X-Kept", "te-é"}));
}

TEST(Spelling, Words) {
  EXPECT_EQ(spelled({.words = true, .names = {"SOAPAction"}}),
            (Names{"X-Camel-Case", "SOAPAction", "Content-Type", "X-Kept", "Te-é"}));
}

TEST(Spelling, LongNamesAreNotLookedUp) {
  const Spelling spelling({.words = false, .names = {"A"}});
  TestScene t;
  t.request.fields.add(t.arena.copy(std::string(5000, 'a')), "1");
  spelling.apply(t.request.fields);
  EXPECT_EQ(t.request.fields.raw()[0].name, std::string(5000, 'a'));
}

}  // namespace
}  // namespace pqedge::route
