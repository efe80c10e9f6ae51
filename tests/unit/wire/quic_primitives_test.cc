#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>

#include "base/text.h"
#include "wire/quic/connection_id_map.h"
#include "wire/quic/copy_buffer.h"
#include "wire/quic/keys.h"
#include "wire/quic/rate.h"
#include "wire/quic/send_queue.h"
#include "wire/quic/varint.h"

namespace pqedge::quic {
namespace {

Bytes hex(std::string& store, std::string_view digits) {
  store = *from_hex(digits);
  return as_bytes(store);
}

// RFC 9000 A.1.
TEST(QuicVarint, DecodesTheExamplesOfRfc9000A1) {
  const std::pair<const char*, uint64_t> examples[] = {{"c2197c5eff14e88c", 151288809941952652},
                                                       {"9d7f3e7d", 494878333},
                                                       {"7bbd", 15293},
                                                       {"25", 37},
                                                       {"4025", 37}};
  for (const auto& [digits, value] : examples) {
    std::string store;
    Bytes in = hex(store, digits);
    uint64_t v = 0;
    ASSERT_TRUE(take_varint(in, v)) << digits;
    EXPECT_EQ(v, value);
    EXPECT_TRUE(in.empty());
  }
}

TEST(QuicVarint, EncodesTheShortestForm) {
  const std::pair<const char*, uint64_t> examples[] = {{"c2197c5eff14e88c", 151288809941952652},
                                                       {"9d7f3e7d", 494878333},
                                                       {"7bbd", 15293},
                                                       {"25", 37},
                                                       {"00", 0},
                                                       {"3f", 63},
                                                       {"4040", 64},
                                                       {"7fff", 16383},
                                                       {"80004000", 16384},
                                                       {"bfffffff", (1u << 30) - 1},
                                                       {"ffffffffffffffff", kMaxVarint}};
  for (const auto& [digits, value] : examples) {
    uint8_t out[8];
    const auto size = static_cast<size_t>(store_varint(out, value) - out);
    EXPECT_EQ(to_hex({out, size}), digits);
    EXPECT_EQ(varint_size(value), size);
  }
}

TEST(QuicVarint, LeavesWhatIsCutShort) {
  std::string store;
  Bytes in = hex(store, "9d7f3e");
  uint64_t v = 0;
  EXPECT_FALSE(take_varint(in, v));
  EXPECT_EQ(in.size(), 3u);
}

// ---- keys ---------------------------------------------------------------------------------------

Keys keys_of(uint8_t seed) {
  std::array<uint8_t, 32> secret;
  secret.fill(seed);
  return *Keys::from_secret(secret);
}

TEST(QuicKeys, IdsNameTheirOwner) {
  const Keys keys = keys_of(1);
  for (const Owner owner : {Owner{0, 0}, Owner{1, 15}, Owner{65535, 65535}}) {
    const ConnectionId id = keys.make_id(owner, 0x01020304);
    EXPECT_EQ(keys.owner_of(id, 0x01020304), owner);
    EXPECT_EQ(keys.owner_of(id, 0x01020305), std::nullopt);
  }
}

TEST(QuicKeys, TheSameSecretIsTheSameKeys) {
  const ConnectionId id = keys_of(1).make_id({3, 4}, 0);
  EXPECT_EQ(keys_of(1).owner_of(id, 0), (Owner{3, 4}));
  EXPECT_EQ(keys_of(1).reset_token(id), keys_of(1).reset_token(id));
  EXPECT_EQ(as_text(keys_of(1).token_secret()), as_text(keys_of(1).token_secret()));
}

TEST(QuicKeys, AnotherSecretKnowsNothing) {
  const ConnectionId id = keys_of(1).make_id({3, 4}, 0);
  EXPECT_EQ(keys_of(2).owner_of(id, 0), std::nullopt);
  EXPECT_NE(keys_of(1).reset_token(id), keys_of(2).reset_token(id));
  EXPECT_NE(as_text(keys_of(1).token_secret()), as_text(keys_of(2).token_secret()));
}

TEST(QuicKeys, IdsOfOneOwnerHaveNothingInCommon) {
  const Keys keys = keys_of(1);
  std::set<std::string> firsts;
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) {
    const ConnectionId id = keys.make_id({1, 1}, 0);
    ids.insert(std::string(as_text(id)));
    firsts.insert(std::string(as_text(Bytes(id).first(8))));
  }
  EXPECT_EQ(ids.size(), 1000u);
  EXPECT_EQ(firsts.size(), 1000u);
}

TEST(QuicKeys, NoiseAndOtherLengthsAreForeign) {
  const Keys keys = keys_of(1);
  std::mt19937 random(1);
  for (int i = 0; i < 10000; ++i) {
    ConnectionId noise;
    for (uint8_t& b : noise) b = static_cast<uint8_t>(random());
    EXPECT_EQ(keys.owner_of(noise, 0), std::nullopt);
  }
  const ConnectionId id = keys.make_id({1, 1}, 0);
  EXPECT_EQ(keys.owner_of(Bytes(id).first(15), 0), std::nullopt);
  EXPECT_EQ(keys.owner_of({}, 0), std::nullopt);
}

TEST(QuicKeys, ASecretHas32Bytes) {
  const std::array<uint8_t, 31> secret{};
  EXPECT_FALSE(Keys::from_secret(secret).has_value());
  EXPECT_TRUE(Keys::generate().has_value());
}

// ---- the table of IDs ---------------------------------------------------------------------------

TEST(QuicConnectionIdMap, AgreesWithAMapUnderRandomUse) {
  ConnectionIdMap<int> table;
  std::map<std::string, int*> model;
  std::mt19937 random(7);
  std::vector<int> values(64);
  for (int step = 0; step < 200000; ++step) {
    std::string id(1 + random() % 20, '\0');
    // Few different first bytes, so that IDs come back.
    id[0] = static_cast<char>(random() % 251);
    if (random() % 8 == 0 && id.size() > 1) id[1] = static_cast<char>(random() % 3);
    int* value = &values[random() % values.size()];
    const auto known = model.find(id);
    switch (random() % 3) {
      case 0:
        EXPECT_EQ(table.insert(as_bytes(id), value), known == model.end());
        model.emplace(id, value);
        break;
      case 1:
        if (known != model.end()) {
          int other = 0;
          table.erase(as_bytes(id), &other);  // not its value: stays
          table.erase(as_bytes(id), known->second);
          model.erase(known);
        } else {
          table.erase(as_bytes(id), value);
        }
        break;
      default: EXPECT_EQ(table.find(as_bytes(id)), known == model.end() ? nullptr : known->second);
    }
    ASSERT_EQ(table.size(), model.size());
  }
  for (const auto& [id, value] : model) EXPECT_EQ(table.find(as_bytes(id)), value);
}

TEST(QuicConnectionIdMap, RefusesLengthsThatAreNone) {
  ConnectionIdMap<int> table;
  int value = 0;
  const std::string long_id(21, 'x');
  EXPECT_FALSE(table.insert({}, &value));
  EXPECT_FALSE(table.insert(as_bytes(long_id), &value));
  EXPECT_EQ(table.find({}), nullptr);
  EXPECT_EQ(table.find(as_bytes(long_id)), nullptr);
}

// ---- queues -------------------------------------------------------------------------------------

std::string unsent_text(const SendQueue& q) {
  ngtcp2_vec vectors[4096];
  const size_t n = q.gather(vectors, std::size(vectors));
  std::string out;
  for (size_t i = 0; i < n; ++i) {
    out.append(reinterpret_cast<const char*>(vectors[i].base), vectors[i].len);
  }
  return out;
}

TEST(QuicSendQueue, KeepsWhatIsNotAcknowledgedUnderRandomUse) {
  std::mt19937 random(3);
  const size_t chunks_before = Chunk::live();
  {
    SendQueue queue;
    CopyBuffer copies;
    std::string stream;  // all that was ever written
    size_t sent = 0;
    size_t acknowledged = 0;
    for (int step = 0; step < 20000; ++step) {
      switch (random() % 3) {
        case 0: {
          std::string piece(1 + random() % 300, '\0');
          for (char& c : piece) c = static_cast<char>('a' + random() % 26);
          stream += piece;
          if (random() % 4 == 0) {
            copy_to_slices(as_bytes(piece), [&](Slice s) { queue.push(std::move(s)); });
          } else {
            copies.copy(as_bytes(piece), [&](Slice s) { queue.push(std::move(s)); });
          }
          break;
        }
        case 1: {
          const size_t n = random() % (queue.unsent() + 1);
          queue.sent(n);
          sent += n;
          break;
        }
        default: {
          const size_t n = random() % (queue.unacknowledged() + 1);
          queue.acknowledged(n);
          acknowledged += n;
        }
      }
      ASSERT_EQ(queue.unsent(), stream.size() - sent);
      ASSERT_EQ(queue.unacknowledged(), sent - acknowledged);
      if (queue.unsent() < 4000) {
        ASSERT_EQ(unsent_text(queue), stream.substr(sent));
      } else {
        queue.sent(queue.unsent());
        sent = stream.size();
      }
    }
    queue.drop_unsent();
    EXPECT_EQ(queue.unsent(), 0u);
    EXPECT_EQ(queue.unacknowledged(), sent - acknowledged);
    queue.acknowledged(queue.unacknowledged());
    EXPECT_TRUE(queue.empty());
  }
  EXPECT_EQ(Chunk::live(), chunks_before);
}

TEST(QuicCopyBuffer, SmallPiecesShareAChunkAndLieSideBySide) {
  CopyBuffer copies;
  std::vector<Slice> kept;
  for (int i = 0; i < 100; ++i) {
    copies.copy(as_bytes("0123456789"), [&](Slice s) { kept.push_back(std::move(s)); });
  }
  ASSERT_EQ(kept.size(), 100u);
  for (size_t i = 1; i < kept.size(); ++i) {
    EXPECT_EQ(kept[i].chunk.get(), kept[0].chunk.get());
    EXPECT_EQ(kept[i].data, kept[i - 1].data + 10);
    EXPECT_EQ(as_text(kept[i].bytes()), "0123456789");
  }
}

TEST(QuicCopyBuffer, CutsAtTheEndOfAChunk) {
  CopyBuffer copies;
  const std::string big(Chunk::kCapacity + 10, 'x');
  std::vector<Slice> kept;
  copies.copy(as_bytes("ab"), [&](Slice s) { kept.push_back(std::move(s)); });
  copies.copy(as_bytes(big), [&](Slice s) { kept.push_back(std::move(s)); });
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_EQ(kept[1].size, Chunk::kCapacity - 2);
  EXPECT_EQ(kept[2].size, 12u);
}

TEST(QuicRateLimit, EarnsOverTimeUpToItsBurst) {
  RateLimit rate(10, 5);
  Nanos now = 1000 * kSecond;
  int taken = 0;
  while (rate.take(now)) ++taken;
  EXPECT_EQ(taken, 5);
  now += kSecond / 10;
  EXPECT_TRUE(rate.take(now));
  EXPECT_FALSE(rate.take(now));
  now += 3600 * kSecond;
  for (taken = 0; rate.take(now);) ++taken;
  EXPECT_EQ(taken, 5);
  EXPECT_FALSE(rate.take(now, 2));
}

}  // namespace
}  // namespace pqedge::quic
