// Bytes that are held, and the memory that they hold.
#include "edge/body_store.h"

#include <gtest/gtest.h>

#include <string>

namespace pqedge::edge {
namespace {

Slice slice_of(std::string_view text) {
  ChunkRef chunk = ChunkRef::make();
  std::memcpy(chunk->data(), text.data(), text.size());
  const uint8_t* const at = chunk->data();
  return {std::move(chunk), at, text.size()};
}

std::string drain(BodyStore& store) {
  std::string out;
  while (!store.empty()) out += as_text(store.pop().bytes());
  return out;
}

TEST(BodyStore, KeepsOrderOfSmallAndLargePieces) {
  BodyStore store;
  std::string expected;
  const std::string large(Chunk::kCapacity - 7, 'L');
  for (int i = 0; i < 300; ++i) {
    const std::string small(static_cast<size_t>(i), static_cast<char>('a' + i % 26));
    store.pack(slice_of(small));
    expected += small;
    if (i % 50 == 0) {
      store.pack(slice_of(large));
      expected += large;
    }
  }
  EXPECT_EQ(store.size(), expected.size());
  std::string seen;
  store.for_each([&](Slice piece) { seen += as_text(piece.bytes()); });
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(drain(store), expected);
}

TEST(BodyStore, OneByteAPieceHoldsNoChunkEach) {
  const size_t before = Chunk::live();
  BodyStore store;
  for (int i = 0; i < 100'000; ++i) store.pack(slice_of("x"));
  EXPECT_EQ(store.size(), 100'000u);
  EXPECT_LE(Chunk::live() - before, 100'000 / Chunk::kCapacity + 1);
  store.clear();
  EXPECT_EQ(Chunk::live(), before);
}

TEST(BodyStore, HoldsAtMostTwiceItsBytes) {
  const size_t before = Chunk::live();
  BodyStore store;
  const std::string half(Chunk::kCapacity / 2, 'h');
  const std::string less(Chunk::kCapacity / 2 - 1, 'l');
  for (int i = 0; i < 50; ++i) {
    store.pack(slice_of(half));
    store.pack(slice_of(less));
  }
  EXPECT_LE((Chunk::live() - before) * Chunk::kCapacity, 2 * store.size() + Chunk::kCapacity);
}

TEST(BodyStore, WhatWasHandedOutStaysAsItWas) {
  BodyStore store;
  store.pack(slice_of("one"));
  Slice copy;
  store.for_each([&](Slice piece) { copy = std::move(piece); });
  store.pack(slice_of("two"));
  EXPECT_EQ(as_text(copy.bytes()), "one");
  store.clear();
  store.pack(slice_of("three"));
  EXPECT_EQ(as_text(copy.bytes()), "one");
  EXPECT_EQ(drain(store), "three");
}

}  // namespace
}  // namespace pqedge::edge
