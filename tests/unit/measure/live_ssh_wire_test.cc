// SSH's packets: sizes by RFC 4253 6, encodings by RFC 4251 5.
#include "measure/live/ssh_wire.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "measure/live/ssh_exchange.h"

namespace pqedge::measure::live {
namespace {

std::string mpint(std::string_view digits) {
  const std::string bytes = from_hex(digits).value();
  return to_hex(SshWriter().mpint(as_bytes(bytes)).bytes());
}

TEST(SshWire, MpintsAreThoseOfRfc4251) {
  EXPECT_EQ(mpint(""), "00000000");
  EXPECT_EQ(mpint("0000"), "00000000");
  EXPECT_EQ(mpint("09a378f9b2e332a7"), "0000000809a378f9b2e332a7");
  EXPECT_EQ(mpint("80"), "000000020080");
}

TEST(SshWire, PacketsAreWholeBlocksWithPadding) {
  for (size_t size = 1; size < 64; ++size) {
    const auto packet = ssh_packet(std::vector<uint8_t>(size, 7));
    EXPECT_EQ(packet.size() % 8, 0U);
    EXPECT_EQ(load_be32(packet.data()), packet.size() - 4);
    EXPECT_GE(packet[4], 4);
    EXPECT_LT(packet[4], 4 + 8);
    EXPECT_EQ(packet.size(), 5 + size + packet[4]);
  }
}

// RFC 8731 3: 32 bytes; RFC 10042: ML-KEM-768's 1,184 and the 32. Whole packets of 48 and 1,232.
TEST(SshWire, ExchangePacketsHaveTheirPublishedSizes) {
  for (const auto& [method, share, packet_size] :
       {std::tuple("curve25519-sha256", size_t{32}, size_t{48}),
        std::tuple("mlkem768x25519-sha256", size_t{1216}, size_t{1232})}) {
    const auto keys = SshExchange::make(method);
    ASSERT_TRUE(keys) << keys.error().message;
    EXPECT_EQ(keys->share().size(), share);
    const auto payload = SshWriter().byte(kSshExchangeInit).string(keys->share()).bytes();
    EXPECT_EQ(ssh_packet(payload).size(), packet_size);
  }
  EXPECT_FALSE(SshExchange::make("sntrup761x25519-sha512"));
}

TEST(SshWire, KexInitReadsBackAndTheFirstCommonNameWins) {
  const std::vector<uint8_t> cookie(16, 1);
  auto payload = make_kexinit("a,b,c", cookie);
  const auto init = parse_kexinit(payload);
  ASSERT_TRUE(init) << init.error().message;
  EXPECT_EQ(init->methods, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(init->host_keys.front(), "ssh-ed25519");
  EXPECT_EQ(first_common("x,c,b", init->methods), "c");
  EXPECT_EQ(first_common("x", init->methods), "");
  for (size_t size = 0; size < payload.size() - 5; ++size) {
    EXPECT_FALSE(parse_kexinit(Bytes(payload).first(size)));
  }
}

TEST(SshWire, ReadsAReply) {
  const auto key = SshWriter().string("ssh-ed25519").string("k").bytes();
  const auto signature = SshWriter().string("ssh-ed25519").string("s").bytes();
  const auto payload =
      SshWriter().byte(kSshExchangeReply).string(key).string("share").string(signature).bytes();
  const auto reply = parse_reply(payload);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(as_text(reply->share), "share");
  EXPECT_EQ(reply->host_key_algorithm, "ssh-ed25519");
  EXPECT_EQ(reply->signature_algorithm, "ssh-ed25519");
  EXPECT_FALSE(parse_reply(Bytes(payload).first(payload.size() - 1)));
}

TEST(SshExchange, RefusesSharesOfAnotherSize) {
  const auto keys = SshExchange::make("mlkem768x25519-sha256");
  ASSERT_TRUE(keys);
  EXPECT_EQ(keys->reply_size(), 1120U);
  EXPECT_FALSE(keys->secret(std::vector<uint8_t>(32)));
  // A point of small order gives an all-zero secret, which must end the exchange (RFC 8731 3).
  const auto classical = SshExchange::make("curve25519-sha256");
  EXPECT_FALSE(classical->secret(std::vector<uint8_t>(32)));
}

}  // namespace
}  // namespace pqedge::measure::live
