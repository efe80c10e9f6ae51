// Hellos out of Initial packets. Right values: RFC 9001 and RFC 9369, appendix A.
#include "wire/quic/initial_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "base/text.h"
#include "unit/wire/initial_sealer.h"

namespace pqedge::quic {
namespace {

using test::append;
using test::Buffer;
using test::crypto_frame;
using test::seal_initial;
using State = InitialReader::State;

Buffer hex(std::string_view text) {
  const std::string bytes = from_hex(text).value();
  return {bytes.begin(), bytes.end()};
}

std::string hex_of(Bytes bytes) { return to_hex(bytes); }

const Buffer kDestination = hex("8394c8f03e515708");
const Buffer kSource = hex("c1c2");

// A ClientHello as far as the reader looks: its type and its length.
Buffer hello(size_t body) {
  Buffer m{1, static_cast<uint8_t>(body >> 16), static_cast<uint8_t>(body >> 8),
           static_cast<uint8_t>(body)};
  for (size_t i = 0; i < body; ++i) m.push_back(static_cast<uint8_t>(i * 7 + (i >> 8)));
  return m;
}

Buffer padded(Buffer frames, size_t size = 1162) {
  frames.resize(std::max(frames.size(), size));
  return frames;
}

// Pieces of `message` of at most `size` bytes, each in a packet of its own.
std::vector<Buffer> packets_of(Bytes message, size_t size, uint32_t version = kVersion1) {
  std::vector<Buffer> packets;
  for (size_t at = 0; at < message.size(); at += size) {
    const Bytes piece = message.subspan(at, std::min(size, message.size() - at));
    packets.push_back(seal_initial(version, kDestination, kSource, packets.size(), 2,
                                   padded(crypto_frame(at, piece))));
  }
  return packets;
}

TEST(InitialKeys, AreThoseOfRfc9001) {
  const auto keys = client_initial_keys(kVersion1, kDestination);
  ASSERT_TRUE(keys);
  EXPECT_EQ(hex_of(keys->key), "1f369613dd76d5467730efcbe3b1a22d");
  EXPECT_EQ(hex_of(keys->iv), "fa044b2f42a3fd3b46fb255c");
  EXPECT_EQ(hex_of(keys->header), "9f50449e04a0e810283a1e9933adedd2");
}

TEST(InitialKeys, OfVersion2AreThoseOfRfc9369) {
  const auto keys = client_initial_keys(kVersion2, kDestination);
  ASSERT_TRUE(keys);
  EXPECT_EQ(hex_of(keys->key), "8b1a0bc121284290a29e0971b5cd045d");
  EXPECT_EQ(hex_of(keys->iv), "91f73e2351d8fa91660e909f");
  EXPECT_EQ(hex_of(keys->header), "45b95e15235d6f45a6b19cbcb0294ba9");
}

// The packet of RFC 9001 A.2, whose first 32 bytes are published there.
TEST(InitialReader, ReadsThePacketOfRfc9001) {
  const Buffer frame = hex(
      "060040f1010000ed0303ebf8fa56f12939b9584a3896472ec40bb863cfd3e86804fe3a47f06a2b69484c00000413"
      "011302010000c000000010000e00000b6578616d706c652e636f6dff01000100000a00080006001d001700180010"
      "0007000504616c706e000500050100000000003300260024001d00209370b2c9caa47fbabaf4559fedba753de171"
      "fa71f50f1ce15d43e994ec74d748002b0003020304000d0010000e0403050306030203080408050806002d000201"
      "01001c00024001003900320408ffffffffffffffff05048000ffff07048000ffff0801100104800075300901100f"
      "088394c8f03e51570806048000ffff");
  const Buffer packet = seal_initial(kVersion1, kDestination, {}, 2, 4, padded(frame));
  ASSERT_EQ(packet.size(), 1200u);
  EXPECT_EQ(hex_of(Bytes(packet).first(32)),
            "c000000001088394c8f03e5157080000449e7b9aec34d1b1c98dd7689fb8ec11");
  InitialReader reader(kVersion1, kDestination);
  ASSERT_EQ(reader.take(packet), State::whole);
  EXPECT_EQ(hex_of(reader.message()), hex_of(Bytes(frame).subspan(4)));
}

TEST(InitialReader, ReadsVersion2) {
  const Buffer message = hello(1500);
  InitialReader reader(kVersion2, kDestination);
  for (const Buffer& p : packets_of(message, 800, kVersion2)) reader.take(p);
  ASSERT_EQ(reader.state(), State::whole);
  EXPECT_TRUE(std::ranges::equal(reader.message(), message));
}

TEST(InitialReader, TakesPacketsInEveryOrderAndTwice) {
  const Buffer message = hello(3000);
  const auto packets = packets_of(message, 700);
  ASSERT_EQ(packets.size(), 5u);
  std::vector<size_t> order(packets.size());
  std::iota(order.begin(), order.end(), size_t{0});
  do {
    InitialReader reader(kVersion1, kDestination);
    for (size_t i = 0; i < order.size(); ++i) {
      EXPECT_EQ(reader.state(), State::more);
      reader.take(packets[order[i]]);
      reader.take(packets[order[i]]);
    }
    ASSERT_EQ(reader.state(), State::whole);
    ASSERT_TRUE(std::ranges::equal(reader.message(), message));
  } while (std::ranges::next_permutation(order).found);
}

TEST(InitialReader, TakesEveryTwoWaySplitInBothOrders) {
  const Buffer message = hello(900);
  for (size_t at = 1; at < message.size(); ++at) {
    const Bytes whole(message);
    const Buffer a = seal_initial(kVersion1, kDestination, kSource, 0, 1,
                                  padded(crypto_frame(0, whole.first(at)), 64));
    const Buffer b = seal_initial(kVersion1, kDestination, kSource, 1, 1,
                                  padded(crypto_frame(at, whole.subspan(at)), 64));
    for (const bool swapped : {false, true}) {
      InitialReader reader(kVersion1, kDestination);
      ASSERT_EQ(reader.take(swapped ? b : a), State::more) << at;
      ASSERT_EQ(reader.take(swapped ? a : b), State::whole) << at;
      ASSERT_TRUE(std::ranges::equal(reader.message(), message)) << at;
    }
  }
}

// Some browsers scatter a hello over many frames on purpose, with PING and PADDING between.
TEST(InitialReader, TakesScatteredFrames) {
  const Buffer message = hello(1000);
  std::vector<Buffer> frames;
  for (size_t at = 0; at < message.size(); at += 37) {
    const size_t n = std::min<size_t>(50, message.size() - at);  // they overlap
    frames.push_back(crypto_frame(at, Bytes(message).subspan(at, n)));
  }
  std::mt19937 dice(3);
  for (int round = 0; round < 50; ++round) {
    std::ranges::shuffle(frames, dice);
    Buffer all{0x01, 0x00, 0x00};
    append(all, hex("02000000"
                    "00"));  // an ACK of packet 0
    for (const Buffer& f : frames) {
      append(all, f);
      all.push_back(0x00);
      all.push_back(0x01);
    }
    InitialReader reader(kVersion1, kDestination);
    ASSERT_EQ(reader.take(seal_initial(kVersion1, kDestination, kSource, 7, 3, all)), State::whole);
    EXPECT_TRUE(std::ranges::equal(reader.message(), message));
  }
}

TEST(InitialReader, TakesCoalescedPackets) {
  const Buffer message = hello(900);
  const auto packets = packets_of(message, 500);
  Buffer datagram = packets[0];
  append(datagram, packets[1]);
  InitialReader reader(kVersion1, kDestination);
  EXPECT_EQ(reader.take(datagram), State::whole);
  EXPECT_EQ(reader.packets(), 2u);
}

TEST(InitialReader, PassesOverWhatIsNotItsOwn) {
  const Buffer message = hello(100);
  InitialReader reader(kVersion1, kDestination);
  const Buffer other = hex("0102030405060708");
  const Buffer foreign =
      seal_initial(kVersion1, other, kSource, 0, 1, padded(crypto_frame(0, hello(200))));
  Buffer damaged = packets_of(message, 200)[0];
  damaged.back() ^= 1;
  EXPECT_EQ(reader.take(foreign), State::more);
  EXPECT_EQ(reader.take(damaged), State::more);
  EXPECT_EQ(reader.take(hex("40aabbccdd")), State::more);
  EXPECT_EQ(reader.packets(), 0u);
  EXPECT_EQ(reader.take(packets_of(message, 200)[0]), State::whole);
}

void expect_broken(const Buffer& frames) {
  InitialReader reader(kVersion1, kDestination);
  EXPECT_EQ(reader.take(seal_initial(kVersion1, kDestination, kSource, 0, 1, frames)),
            State::broken);
  EXPECT_FALSE(reader.fault().empty());
}

TEST(InitialReader, RefusesWhatNoClientSends) {
  expect_broken(padded(crypto_frame(0, hex("02000001"
                                           "00")),
                       64));                                      // a ServerHello
  expect_broken(padded(crypto_frame(0, hex("01004000")), 64));    // longer than 16 KiB
  expect_broken(padded(crypto_frame(16 * 1024, hex("00")), 64));  // beyond it
  expect_broken(padded(hex("0800"), 64));                         // a STREAM frame
  expect_broken(hex("0600408000000000"));                         // cut short
  expect_broken(
      hex("06000000"
          "1c00000000"));                  // CONNECTION_CLOSE
  expect_broken(hex("02000040ff000000"));  // ACK ranges not there
}

// The same place with other bytes: who reads the packets in another order sees another hello.
TEST(InitialReader, RefusesContradictions) {
  Buffer message = hello(600);
  const Buffer first = seal_initial(kVersion1, kDestination, kSource, 0, 1,
                                    padded(crypto_frame(0, Bytes(message).first(400))));
  message[399] ^= 1;
  const Buffer second = seal_initial(kVersion1, kDestination, kSource, 1, 1,
                                     padded(crypto_frame(399, Bytes(message).subspan(399))));
  InitialReader reader(kVersion1, kDestination);
  EXPECT_EQ(reader.take(first), State::more);
  EXPECT_EQ(reader.take(second), State::broken);
}

TEST(InitialReader, KeepsToItsBounds) {
  // As many holes as may be, and one more.
  Buffer frames;
  for (size_t i = 0; i < 100; ++i) append(frames, crypto_frame(4 + 2 * i, hex("00")));
  expect_broken(frames);
  // The longest hello there is.
  const Buffer message = hello(InitialReader::kMaxHello - 4);
  InitialReader reader(kVersion1, kDestination);
  for (const Buffer& p : packets_of(message, 1100)) reader.take(p);
  EXPECT_EQ(reader.state(), State::whole);
  EXPECT_LE(reader.held(), InitialReader::kMaxHello);
}

TEST(CryptoPieces, FillInAnyOrder) {
  std::mt19937 dice(1);
  Buffer message(2000);
  for (size_t i = 0; i < message.size(); ++i) message[i] = static_cast<uint8_t>(i * 31);
  for (int round = 0; round < 200; ++round) {
    CryptoPieces pieces(4000);
    Buffer known(message.size());
    while (pieces.front().size() < message.size()) {
      const size_t at = dice() % message.size();
      const size_t n = 1 + dice() % std::min<size_t>(300, message.size() - at);
      const auto added = pieces.add(at, Bytes(message).subspan(at, n));
      if (added == CryptoPieces::Added::scattered) continue;
      ASSERT_EQ(added, CryptoPieces::Added::ok);
      std::fill_n(known.begin() + static_cast<std::ptrdiff_t>(at), n, uint8_t{1});
      const auto hole = std::ranges::find(known, 0);
      ASSERT_EQ(pieces.front().size(), static_cast<size_t>(hole - known.begin()));
    }
    ASSERT_TRUE(std::ranges::equal(pieces.front(), message));
  }
}

TEST(LongHeader, ReadsTheTypesOfBothVersions) {
  const auto type = [](uint8_t first, uint32_t version) {
    Buffer packet{first, 0, 0, 0, 0, 1, 0xaa, 1, 0xbb, 0, 1, 0};
    store_be32(packet.data() + 1, version);
    if (first == 0xd0 && version == kVersion1) packet.erase(packet.begin() + 9);  // no token
    const auto header = read_long_header(packet);
    return header ? std::optional(header->type) : std::nullopt;
  };
  EXPECT_EQ(type(0xc0, kVersion1), LongType::initial);
  EXPECT_EQ(type(0xd0, kVersion1), LongType::zero_rtt);
  EXPECT_EQ(type(0xf0, kVersion1), LongType::retry);
  EXPECT_EQ(type(0xd0, kVersion2), LongType::initial);
  EXPECT_EQ(type(0xc0, kVersion2), LongType::retry);
  EXPECT_EQ(type(0xc0, 3), std::nullopt);
}

}  // namespace
}  // namespace pqedge::quic
