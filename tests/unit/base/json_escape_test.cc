// append_json_escaped looks at eight bytes at a time: the same must come out wherever a byte
// stands.
#include <gtest/gtest.h>

#include <string>

#include "base/text.h"

namespace pqedge {
namespace {

std::string json(std::string_view s) {
  std::string out;
  append_json_escaped(out, s);
  return out;
}

TEST(JsonEscape, EveryByteAtEveryPlace) {
  for (int b = 0; b < 256; ++b) {
    const std::string one(1, static_cast<char>(b));
    const std::string escaped = json(one);
    for (size_t at = 0; at < 20; ++at) {
      // Neighbours that a borrow between bytes would disturb: the least and the greatest plain
      // ones.
      for (const char neighbour : {' ', '!', '#', '[', ']', '~'}) {
        std::string text(20, neighbour);
        text[at] = static_cast<char>(b);
        std::string expected(at, neighbour);
        expected += escaped;
        expected.append(19 - at, neighbour);
        ASSERT_EQ(json(text), expected) << "byte " << b << " at " << at;
      }
    }
  }
}

TEST(JsonEscape, EveryPairOfNeighbours) {
  for (int a = 0; a < 128; ++a) {
    for (int b = 0; b < 128; ++b) {
      std::string text(8, 'x');
      text[3] = static_cast<char>(a);
      text[4] = static_cast<char>(b);
      ASSERT_EQ(json(text), "xxx" + json(text.substr(3, 1)) + json(text.substr(4, 1)) + "xxx");
    }
  }
}

}  // namespace
}  // namespace pqedge
