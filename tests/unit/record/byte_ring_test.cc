#include "record/byte_ring.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <string>
#include <thread>

namespace pqedge::record {
namespace {

bool push(ByteRing& ring, std::string_view text) {
  uint8_t* place = ring.reserve(text.size());
  if (place == nullptr) return false;
  std::memcpy(place, text.data(), text.size());
  ring.commit();
  return true;
}

std::string pop(ByteRing& ring) {
  const auto front = ring.front();
  std::string text(reinterpret_cast<const char*>(front.data()), front.size());
  ring.pop();
  return text;
}

// Lengths that hit every place of the ring's end, without a clock or a random seed.
std::string message(unsigned i) {
  return std::to_string(i) + std::string((i * 37) % 61, static_cast<char>('a' + i % 26));
}

TEST(ByteRing, KeepsOrderAndBytesAcrossItsEnd) {
  ByteRing ring(512);
  std::deque<std::string> expected;
  unsigned next = 0;
  for (int round = 0; round < 5000; ++round) {
    while (push(ring, message(next))) expected.push_back(message(next++));
    ASSERT_FALSE(expected.empty());
    for (int i = 0; i <= round % 5 && !expected.empty(); ++i) {
      ASSERT_EQ(pop(ring), expected.front());
      expected.pop_front();
    }
  }
  while (!expected.empty()) {
    ASSERT_EQ(pop(ring), expected.front());
    expected.pop_front();
  }
  EXPECT_TRUE(ring.front().empty());
  EXPECT_TRUE(ring.empty());
}

TEST(ByteRing, IsFullInsteadOfOverwriting) {
  ByteRing ring(256);
  size_t pushed = 0;
  while (push(ring, "0123456789")) ++pushed;
  EXPECT_EQ(pushed, 256 / 16u);
  EXPECT_EQ(ring.used_by_writer(), 256u);
  EXPECT_EQ(pop(ring), "0123456789");
  EXPECT_TRUE(push(ring, "x"));
}

TEST(ByteRing, ARecordLargerThanTheRingNeverFits) {
  ByteRing ring(256);
  EXPECT_EQ(ring.reserve(256), nullptr);
  EXPECT_TRUE(push(ring, "x"));
  EXPECT_EQ(ring.reserve(252), nullptr) << "not beside another, nor after the skip";
  EXPECT_EQ(pop(ring), "x");
}

TEST(ByteRing, RoundsUpToAPowerOfTwo) { EXPECT_EQ(ByteRing(1000).capacity(), 1024u); }

TEST(ByteRing, OneThreadWritesWhileAnotherReads) {
  ByteRing ring(1024);
  constexpr unsigned kCount = 50'000;
  std::thread writer([&] {
    for (unsigned i = 0; i < kCount;) {
      if (push(ring, message(i))) {
        ++i;
      } else {
        std::this_thread::yield();
      }
    }
  });
  unsigned wrong = 0;
  for (unsigned i = 0; i < kCount;) {
    if (ring.front().empty()) {
      std::this_thread::yield();
      continue;
    }
    if (pop(ring) != message(i)) ++wrong;
    ++i;
  }
  writer.join();
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace pqedge::record
