#include "base/chunk.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <string>
#include <thread>

namespace pqedge {
namespace {

Slice slice_of(std::string_view text) {
  Slice made;
  copy_to_slices(as_bytes(text), [&](Slice s) { made = std::move(s); });
  return made;
}

std::string text_of(const SliceQueue& queue) {
  std::string all;
  for (size_t i = 0; i < queue.count(); ++i) all += as_text(queue.at(i).bytes());
  return all;
}

TEST(Chunk, LivesAsLongAsASliceOfIt) {
  const size_t before = Chunk::live();
  Slice rest;
  {
    ChunkRef chunk = ChunkRef::make();
    std::memcpy(chunk->data(), "abc", 3);
    const uint8_t* const p = chunk->data();
    Slice whole{chunk, p, 3};
    rest = Slice{chunk, p + 1, 2};
    EXPECT_TRUE(chunk->shared());
    EXPECT_EQ(Chunk::live(), before + 1);
  }
  EXPECT_FALSE(rest.chunk->shared());
  EXPECT_EQ(as_text(rest.bytes()), "bc");
  rest = {};
  EXPECT_EQ(Chunk::live(), before);
}

TEST(Chunk, FreeOnesAreUsedAgain) {
  Chunk* first = nullptr;
  {
    const ChunkRef a = ChunkRef::make();
    first = a.get();
  }
  const ChunkRef b = ChunkRef::make();
  EXPECT_EQ(b.get(), first);
}

// More than the free list keeps, and a thread that ends with chunks in its list.
TEST(Chunk, ManyMayComeBackAtOnce) {
  std::thread worker([] {
    std::vector<ChunkRef> many;
    for (int i = 0; i < 200; ++i) many.push_back(ChunkRef::make());
    EXPECT_EQ(Chunk::live(), 200u);
    many.clear();
    EXPECT_EQ(Chunk::live(), 0u);
  });
  worker.join();
}

TEST(Chunk, LongBytesAreCutIntoChunks) {
  const std::string text(2 * Chunk::kCapacity + 5, 'z');
  std::vector<size_t> sizes;
  std::string all;
  copy_to_slices(as_bytes(text), [&](Slice s) {
    sizes.push_back(s.size);
    all += as_text(s.bytes());
  });
  EXPECT_EQ(sizes, (std::vector<size_t>{Chunk::kCapacity, Chunk::kCapacity, 5}));
  EXPECT_EQ(all, text);
}

TEST(SliceQueue, IsAFifoOfBytes) {
  SliceQueue q;
  q.push(slice_of("abc"));
  q.push(Slice{});  // empty ones are not kept
  q.push(slice_of("defg"));
  EXPECT_EQ(q.count(), 2u);
  EXPECT_EQ(q.size(), 7u);
  q.consume(4);
  EXPECT_EQ(text_of(q), "efg");
  EXPECT_EQ(as_text(q.pop().bytes()), "efg");
  EXPECT_TRUE(q.empty());
  EXPECT_EQ(q.count(), 0u);
}

TEST(SliceQueue, TheLastSliceCanBeLengthened) {
  SliceQueue q;
  const ChunkRef chunk = ChunkRef::make();
  std::memcpy(chunk->data(), "abcdef", 6);
  q.push(Slice{chunk, chunk->data(), 2});
  q.extend_back(2);
  EXPECT_EQ(text_of(q), "abcd");
  EXPECT_EQ(q.size(), 4u);
  EXPECT_EQ(q.back().size, 4u);
}

TEST(SliceQueue, LetsGoOfChunksAsTheyAreConsumed) {
  const size_t before = Chunk::live();
  SliceQueue q;
  for (int i = 0; i < 100; ++i) q.push(slice_of("0123456789"));
  EXPECT_EQ(Chunk::live(), before + 100);
  q.consume(505);
  EXPECT_EQ(Chunk::live(), before + 50);
  q.clear();
  EXPECT_EQ(Chunk::live(), before);
  EXPECT_TRUE(q.empty());
}

TEST(SliceQueue, BehavesAsAStringDoes) {
  SliceQueue q;
  std::string model;
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    switch (random() % 4) {
      case 0:
      case 1: {
        const std::string text(1 + random() % 50, static_cast<char>('a' + i % 26));
        q.push(slice_of(text));
        model += text;
        break;
      }
      case 2: {
        const size_t n = model.empty() ? 0 : random() % (model.size() + 1);
        q.consume(n);
        model.erase(0, n);
        break;
      }
      default:
        if (!q.empty()) {
          const std::string text(as_text(q.front().bytes()));
          ASSERT_EQ(as_text(q.pop().bytes()), text);
          ASSERT_EQ(model.substr(0, text.size()), text);
          model.erase(0, text.size());
        }
    }
    ASSERT_EQ(q.size(), model.size());
    ASSERT_EQ(q.empty(), model.empty());
  }
  EXPECT_EQ(text_of(q), model);
}

}  // namespace
}  // namespace pqedge
