#include "base/memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace pqedge::memory {
namespace {

// What happens when allocations fail is in tests/integration/test_faults_memory.py.
TEST(Memory, AllocatesAsTheCLibraryDoes) {
  auto* text = static_cast<char*>(allocate(4));
  ASSERT_NE(text, nullptr);
  std::memcpy(text, "abc", 4);
  text = static_cast<char*>(reallocate(text, 4096));
  EXPECT_STREQ(text, "abc");
  EXPECT_EQ(reallocate(text, 0), nullptr);

  auto* zeros = static_cast<uint8_t*>(allocate_zeroed(16, 4));
  ASSERT_NE(zeros, nullptr);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(zeros[i], 0);
  std::free(zeros);

  void* aligned = allocate_aligned(256, 100);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(aligned) % 256, 0u);
  std::free(aligned);
}

TEST(Memory, WhatIsNoSizeFailsAtOnce) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "AddressSanitizer ends the program";
#endif
  volatile size_t none = SIZE_MAX - 4096;  // not to be seen through
  EXPECT_EQ(allocate(none), nullptr);
  EXPECT_EQ(allocate_zeroed(none, none), nullptr);
  EXPECT_EQ(allocate_zeroed(none / 2, 2), nullptr);
  void* old = allocate(8);
  EXPECT_EQ(reallocate(old, none), nullptr);
  std::free(old);
  EXPECT_FALSE(refusing());
}

TEST(Memory, TheReserveIsWholeAgain) {
  make_reserve();
  recover();
  EXPECT_FALSE(is_short());
  EXPECT_FALSE(refusing());
}

}  // namespace
}  // namespace pqedge::memory
