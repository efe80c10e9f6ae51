// Stored ticket keys: sealed for several machines, and nothing is taken of what was changed.
#include "crypto/ticket_store.h"

#include <gtest/gtest.h>

namespace pqedge::crypto {
namespace {

struct Machine {
  KemKey key = kem_generate();
  KemPublicKey public_key{};
  Machine() { EXPECT_TRUE(kem_public_bytes(key.get(), public_key)); }
};

TicketStore store_for(std::initializer_list<const Machine*> machines) {
  TicketStore store;
  for (const Machine* m : machines) store.recipients.push_back(m->public_key);
  add_next_key(store, 1'000'000 * kSecond, 4);
  add_next_key(store, 2'000'000 * kSecond, 4);
  return store;
}

TEST(TicketStore, EveryRecipientOpensIt) {
  const Machine a;
  const Machine b;
  const TicketStore store = store_for({&a, &b});
  const auto sealed = seal_ticket_store(store);
  ASSERT_TRUE(sealed) << sealed.error().message;
  for (const Machine* m : {&a, &b}) {
    const auto opened = open_ticket_store(*sealed, m->key.get());
    ASSERT_TRUE(opened) << opened.error().message;
    ASSERT_EQ(opened->keys.size(), 2u);
    EXPECT_EQ(opened->recipients, store.recipients);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(opened->keys[i].name, store.keys[i].name);
      EXPECT_EQ(opened->keys[i].key, store.keys[i].key);
      EXPECT_EQ(opened->keys[i].mac, store.keys[i].mac);
      EXPECT_EQ(opened->keys[i].seed, store.keys[i].seed);
      EXPECT_EQ(opened->keys[i].created, store.keys[i].created);
    }
    EXPECT_EQ(opened->keys[0].created, 2'000'000 * kSecond);
  }
}

TEST(TicketStore, NobodyElseOpensIt) {
  const Machine a;
  const Machine other;
  const auto sealed = seal_ticket_store(store_for({&a}));
  ASSERT_TRUE(sealed);
  const auto opened = open_ticket_store(*sealed, other.key.get());
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("not for this machine"), std::string::npos);
}

TEST(TicketStore, AnyChangeIsFound) {
  const Machine a;
  const Machine b;
  const auto sealed = seal_ticket_store(store_for({&a, &b}));
  ASSERT_TRUE(sealed);
  // The end of the header, both recipients, the keys: not every byte, a KEM takes its time.
  for (size_t at = 0; at < sealed->size(); at += at < 64 ? 1 : 97) {
    auto changed = *sealed;
    changed[at] ^= 0x04;
    EXPECT_FALSE(open_ticket_store(changed, a.key.get())) << at;
  }
  for (size_t size = 0; size < sealed->size(); size += size < 64 ? 1 : 311) {
    EXPECT_FALSE(open_ticket_store(Bytes(*sealed).first(size), a.key.get())) << size;
  }
  auto longer = *sealed;
  longer.push_back(0);
  EXPECT_FALSE(open_ticket_store(longer, a.key.get()));
}

TEST(TicketStore, TheFormatIsAsDocumented) {
  const Machine a;
  const auto sealed = seal_ticket_store(store_for({&a}));
  ASSERT_TRUE(sealed);
  EXPECT_EQ(as_text(Bytes(*sealed).first(8)), "pqedgeTK");
  EXPECT_EQ((*sealed)[8], 1);  // version
  EXPECT_EQ((*sealed)[9], 1);  // recipients
  EXPECT_EQ(load_be16(sealed->data() + 10), 2 * 152 + 16);
  EXPECT_EQ(sealed->size(), 24u + 3184 + 2 * 152 + 16);
  EXPECT_TRUE(std::ranges::equal(Bytes(*sealed).subspan(24, 1568), a.public_key));
  auto newer = *sealed;
  newer[8] = 2;
  const auto opened = open_ticket_store(newer, a.key.get());
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("version 2"), std::string::npos);
}

TEST(TicketStore, TheOldestKeysGo) {
  TicketStore store;
  for (uint64_t i = 1; i <= 30; ++i) add_next_key(store, i * kSecond, 4);
  ASSERT_EQ(store.keys.size(), 4u);
  EXPECT_EQ(store.keys.front().created, 30 * kSecond);
  EXPECT_EQ(store.keys.back().created, 27 * kSecond);
}

TEST(TicketStore, Bounds) {
  const Machine a;
  TicketStore store;
  EXPECT_FALSE(seal_ticket_store(store));
  store.recipients.push_back(a.public_key);
  EXPECT_FALSE(seal_ticket_store(store));
  for (uint64_t i = 1; i <= kMaxStoredKeys; ++i) add_next_key(store, i * kSecond, kMaxStoredKeys);
  store.recipients.resize(kMaxRecipients, a.public_key);
  const auto most = seal_ticket_store(store);
  ASSERT_TRUE(most);
  EXPECT_LE(most->size(), kMaxTicketStore);
  EXPECT_TRUE(open_ticket_store(*most, a.key.get()));
  store.recipients.push_back(a.public_key);
  EXPECT_FALSE(seal_ticket_store(store));
}

}  // namespace
}  // namespace pqedge::crypto
