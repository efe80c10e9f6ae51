#include "base/arena.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace pqedge {
namespace {

TEST(Arena, TheFirstBlockTakesNothingFromTheHeap) {
  Arena arena;
  size_t used = 0;
  while (used + 64 <= Arena::kFirstBlock) {
    arena.allocate(64);
    used += 64;
  }
  EXPECT_EQ(arena.heap_bytes(), 0u);
  arena.allocate(64);
  EXPECT_GT(arena.heap_bytes(), 0u);
  arena.reset();
  EXPECT_EQ(arena.heap_bytes(), 0u);
}

// What is handed out is aligned, and nothing overlaps: each piece keeps what was written into it.
TEST(Arena, PiecesAreAlignedAndApart) {
  Arena arena;
  std::mt19937 random(1);
  for (int round = 0; round < 3; ++round) {
    std::vector<std::pair<uint8_t*, size_t>> pieces;
    for (int i = 0; i < 500; ++i) {
      const size_t size = random() % (i % 50 == 0 ? 20'000 : 200);
      auto* p = static_cast<uint8_t*>(arena.allocate(size));
      ASSERT_EQ(reinterpret_cast<uintptr_t>(p) % 8, 0u);
      std::memset(p, i & 0xff, size);
      pieces.emplace_back(p, size);
    }
    for (size_t i = 0; i < pieces.size(); ++i) {
      for (size_t k = 0; k < pieces[i].second; ++k) ASSERT_EQ(pieces[i].first[k], i & 0xff);
    }
    arena.reset();
  }
}

TEST(Arena, CopiesAndJoins) {
  Arena arena;
  std::string text = "hello";
  const std::string_view copy = arena.copy(text);
  text = "other";
  EXPECT_EQ(copy, "hello");
  EXPECT_EQ(arena.copy(""), "");
  EXPECT_EQ(arena.concat("a", std::string_view(), std::string("b"), "c"), "abc");
  EXPECT_EQ(arena.concat("", ""), "");
  const std::string big(100'000, 'x');
  EXPECT_EQ(arena.concat(big, "y"), big + "y");
}

}  // namespace
}  // namespace pqedge
