// Initial packets against RFC 9001, appendix A.
#include "measure/live/quic_initial.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <memory>

#include "base/text.h"
#include "crypto/handles.h"

namespace pqedge::measure::live {
namespace {

std::vector<uint8_t> hex(std::string_view text) {
  const std::string bytes = from_hex(text).value();
  return {bytes.begin(), bytes.end()};
}

constexpr std::string_view kDestination = "8394c8f03e515708";

// A.2: the CRYPTO frame, padded in the packet to 1,162 bytes of payload.
constexpr std::string_view kClientFrame =
    "060040f1010000ed0303ebf8fa56f12939b9584a3896472ec40bb863cfd3e86804fe3a47f06a2b69484c00000413"
    "011302010000c000000010000e00000b6578616d706c652e636f6dff01000100000a00080006001d001700180010"
    "00070005"
    "04616c706e000500050100000000003300260024001d00209370b2c9caa47fbabaf4559fedba753de1"
    "71fa71f50f1ce15d43e994ec74d748002b0003020304000d0010000e0403050306030203080408050806002d0002"
    "0101001c00024001003900320408ffffffffffffffff05048000ffff07048000ffff0801100104800075300901100f"
    "088394c8f03e51570806048000ffff";
constexpr std::string_view kClientHeader = "c300000001088394c8f03e5157080000449e00000002";
constexpr std::string_view kClientBegin =
    "c000000001088394c8f03e5157080000449e7b9aec34d1b1c98dd7689fb8ec11";
// A.3, whole.
constexpr std::string_view kServerPacket =
    "cf000000010008f067a5502a4262b5004075c0d95a482cd0991cd25b0aac406a5816b6394100f37a1c6979755478"
    "0bb38cc5a99f5ede4cf73c3ec2493a1839b3dbcba3f6ea46c5b7684df3548e7ddeb9c3bf9c73cc3f3bded74b562b"
    "fb19fb84022f8ef4cdd93795d77d06edbb7aaf2f58891850abbdca3d20398c276456cbc42158407dd074ee";
constexpr std::string_view kServerHello =
    "020000560303eefce7f7b37ba1d1632e96677825ddf73988cfc79825df566dc5430b9a045a1200130100002e0033"
    "0024001d00209d3c940d89690b84d08a60993c144eca684d1081287c834d5311bcf32bb9da1a002b00020304";

using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, crypto::FreeWith<EVP_CIPHER_CTX_free>>;

// Protects a packet with a packet number of 4 bytes, by OpenSSL's own AEAD and ECB.
std::vector<uint8_t> seal(std::vector<uint8_t> header, const std::vector<uint8_t>& payload,
                          const InitialKeys& keys) {
  auto nonce = keys.iv;
  for (size_t i = 0; i < 4; ++i) nonce[8 + i] ^= header[header.size() - 4 + i];
  const CipherContext aead(EVP_CIPHER_CTX_new());
  std::vector<uint8_t> sealed(payload.size() + 16);
  int size = 0;
  EVP_EncryptInit_ex2(aead.get(), EVP_aes_128_gcm(), keys.key.data(), nonce.data(), nullptr);
  EVP_EncryptUpdate(aead.get(), nullptr, &size, header.data(), static_cast<int>(header.size()));
  EVP_EncryptUpdate(aead.get(), sealed.data(), &size, payload.data(),
                    static_cast<int>(payload.size()));
  EVP_EncryptFinal_ex(aead.get(), sealed.data() + size, &size);
  EVP_CIPHER_CTX_ctrl(aead.get(), EVP_CTRL_AEAD_GET_TAG, 16, sealed.data() + payload.size());
  uint8_t mask[16];
  const CipherContext ecb(EVP_CIPHER_CTX_new());
  EVP_EncryptInit_ex2(ecb.get(), EVP_aes_128_ecb(), keys.hp.data(), nullptr, nullptr);
  EVP_EncryptUpdate(ecb.get(), mask, &size, sealed.data(), 16);
  const size_t number_at = header.size() - 4;
  header[0] ^= mask[0] & 0x0f;
  for (size_t i = 0; i < 4; ++i) header[number_at + i] ^= mask[1 + i];
  header.insert(header.end(), sealed.begin(), sealed.end());
  return header;
}

std::vector<uint8_t> client_packet() {
  std::vector<uint8_t> payload = hex(kClientFrame);
  payload.resize(1162);
  return seal(hex(kClientHeader), payload, initial_keys(hex(kDestination), false));
}

TEST(QuicInitial, KeysAreThoseOfAppendixA1) {
  const InitialKeys client = initial_keys(hex(kDestination), false);
  EXPECT_EQ(to_hex(client.key), "1f369613dd76d5467730efcbe3b1a22d");
  EXPECT_EQ(to_hex(client.iv), "fa044b2f42a3fd3b46fb255c");
  EXPECT_EQ(to_hex(client.hp), "9f50449e04a0e810283a1e9933adedd2");
  const InitialKeys server = initial_keys(hex(kDestination), true);
  EXPECT_EQ(to_hex(server.key), "cf3a5331653c364c88f0f379b6067e37");
  EXPECT_EQ(to_hex(server.iv), "0ac1493ca1905853b0bba03e");
  EXPECT_EQ(to_hex(server.hp), "c206b8d9b9f0f37644430b490eeaa314");
}

TEST(QuicInitial, ReadsBothHellosOfTheAppendix) {
  const auto datagram = client_packet();
  ASSERT_EQ(datagram.size(), 1200U);
  ASSERT_EQ(to_hex(Bytes(datagram).first(32)), kClientBegin);
  QuicReader reader;
  reader.sent(datagram);
  reader.received(hex(kServerPacket));
  ASSERT_EQ(reader.client_messages().size(), 1U);
  EXPECT_EQ(reader.client_messages()[0].size(), 241U);
  EXPECT_EQ(reader.client_messages()[0][0], kClientHello);
  ASSERT_EQ(reader.server_messages().size(), 1U);
  EXPECT_EQ(to_hex(reader.server_messages()[0]), kServerHello);
  EXPECT_EQ(reader.initial_packets(false), 1U);
  EXPECT_EQ(reader.initial_packets(true), 1U);
  EXPECT_EQ(reader.initial_padding(false), 1162U - 245U);
  EXPECT_EQ(reader.undecryptable(), 0U);
}

TEST(QuicInitial, ADamagedPacketIsNotRead) {
  QuicReader reader;
  reader.sent(client_packet());
  auto packet = hex(kServerPacket);
  packet.back() ^= 1;
  reader.received(packet);
  EXPECT_TRUE(reader.server_messages().empty());
  EXPECT_EQ(reader.undecryptable(), 1U);
}

TEST(QuicInitial, AMessageOverSeveralPacketsIsPutTogetherInAnyOrder) {
  const InitialKeys keys = initial_keys(hex(kDestination), false);
  // Three CRYPTO frames of one message of 4 + 20 bytes, each in a packet of its own.
  const auto message =
      hex("01000014"
          "000102030405060708090a0b0c0d0e0f10111213");
  const auto packet = [&](uint8_t number, uint8_t offset, uint8_t size) {
    std::vector<uint8_t> payload{0x06, offset, size};
    payload.insert(payload.end(), message.begin() + offset, message.begin() + offset + size);
    payload.resize(40);
    // Length: 4 of the number, 40, 16 of the tag.
    std::vector<uint8_t> header = hex("c300000001088394c8f03e5157080000403c000000");
    header.push_back(number);
    return seal(header, payload, keys);
  };
  QuicReader reader;
  reader.sent(packet(0, 0, 10));
  reader.sent(packet(2, 18, 6));
  EXPECT_TRUE(reader.client_messages().empty());
  // Coalesced with one that repeats what is known (RFC 9000 12.2).
  auto both = packet(1, 8, 10);
  const auto again = packet(3, 0, 10);
  both.insert(both.end(), again.begin(), again.end());
  reader.sent(both);
  ASSERT_EQ(reader.client_messages().size(), 1U);
  EXPECT_EQ(reader.client_messages()[0], message);
  EXPECT_EQ(reader.initial_packets(false), 4U);
}

TEST(QuicInitial, ARetryMakesNewKeys) {
  QuicReader reader;
  reader.sent(client_packet());
  reader.received(hex("ff000000010008f067a5502a4262b5746f6b656e04a265ba2eff4d829058fb3f0f2496ba"));
  EXPECT_TRUE(reader.retry());
  // The next Initial is under keys of the Retry's source ID, and carries the token.
  const InitialKeys keys = initial_keys(hex("f067a5502a4262b5"), false);
  std::vector<uint8_t> payload(40);
  const auto header = hex("c30000000108f067a5502a4262b50005746f6b656e403c00000000");
  reader.sent(seal(header, payload, keys));
  EXPECT_EQ(reader.initial_packets(false), 2U);
  EXPECT_EQ(reader.undecryptable(), 0U);
}

TEST(QuicInitial, SeesVersionNegotiationAndStandsAnyBytes) {
  QuicReader reader;
  reader.sent(client_packet());
  reader.received(hex("80000000000008f067a5502a4262b56b3343cf1a2a3a4a"));
  EXPECT_TRUE(reader.version_negotiation());
  EXPECT_EQ(reader.versions(), (std::vector<uint32_t>{0x6b3343cf, 0x1a2a3a4a}));
  const auto packet = hex(kServerPacket);
  for (size_t size = 0; size < packet.size(); ++size) reader.received(Bytes(packet).first(size));
  EXPECT_TRUE(reader.server_messages().empty());
}

}  // namespace
}  // namespace pqedge::measure::live
