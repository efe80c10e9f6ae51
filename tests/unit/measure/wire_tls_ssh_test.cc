// Bytes of TLS key shares and SSH packets (M8): the sizes are the RFCs' own.
#include <gtest/gtest.h>

#include "measure/wire/ssh_packet.h"
#include "measure/wire/tls_share.h"

namespace pqedge::measure {
namespace {

// Parts are told apart by their bytes.
ExchangeKeys keys(size_t kem_public, size_t ciphertext, size_t classical) {
  return {std::vector<uint8_t>(kem_public, 0xa1), std::vector<uint8_t>(ciphertext, 0xa2),
          std::vector<uint8_t>(classical, 0xb1), std::vector<uint8_t>(classical, 0xb2)};
}

const WireDetail& detail(const WireFigures& figures, std::string_view start) {
  for (const WireDetail& d : figures.details) {
    if (d.name.starts_with(start)) return d;
  }
  throw std::runtime_error("no detail " + std::string(start));
}

TEST(TlsShares, SumsAreThoseOfTheStandards) {
  struct Case {
    uint16_t group;
    ExchangeKeys keys;
    size_t client, server, server_hello_tcp, server_hello_quic;
  };
  // FIPS 203 table 3, RFC 7748 6.1, RFC 8446 4.2.8.2. The ServerHello of 1,210 bytes was captured
  // from OpenSSL's X25519MLKEM768 by others (Q-Advantage, layer-b-pairwise-2026-08-30).
  const Case cases[] = {
      {kTlsX25519, keys(0, 0, 32), 32, 32, 122, 90},
      {kTlsSecp256r1, keys(0, 0, 65), 65, 65, 155, 123},
      {kTlsMlKem768, keys(1184, 1088, 0), 1184, 1088, 1178, 1146},
      {kTlsX25519MlKem768, keys(1184, 1088, 32), 1216, 1120, 1210, 1178},
      {kTlsSecP256r1MlKem768, keys(1184, 1088, 65), 1249, 1153, 1243, 1211},
      {kTlsSecP384r1MlKem1024, keys(1568, 1568, 97), 1665, 1665, 1755, 1723},
  };
  for (const Case& c : cases) {
    const WireFigures figures = tls_figures(c.group, c.keys);
    EXPECT_EQ(figures.bytes.client_to_server, c.client) << c.group;
    EXPECT_EQ(figures.bytes.server_to_client, c.server) << c.group;
    EXPECT_EQ(detail(figures, "ServerHello message over TCP").bytes.server_to_client,
              c.server_hello_tcp);
    EXPECT_EQ(detail(figures, "ServerHello message over QUIC").bytes.server_to_client,
              c.server_hello_quic);
    EXPECT_EQ(detail(figures, "key_share entries").bytes.total(), c.client + c.server + 8);
    for (const WireDetail& d : figures.details) EXPECT_FALSE(d.source.empty()) << d.name;
  }
  EXPECT_EQ(tls_figures(kTlsX25519MlKem768, keys(1184, 1088, 32)).bytes.total(), 2336u);
  EXPECT_EQ(tls_figures(kTlsSecP256r1MlKem768, keys(1184, 1088, 65)).bytes.total(), 2402u);
  EXPECT_EQ(tls_figures(kTlsSecP384r1MlKem1024, keys(1568, 1568, 97)).bytes.total(), 3330u);
}

// RFC 10024: ML-KEM first with X25519, the curve first with the NIST curves.
TEST(TlsShares, OrderOfTheParts) {
  const ExchangeKeys x25519 = keys(1184, 1088, 32);
  EXPECT_EQ(tls_client_share(kTlsX25519MlKem768, x25519).key_exchange.front(), 0xa1);
  EXPECT_EQ(tls_server_share(kTlsX25519MlKem768, x25519).key_exchange.back(), 0xb2);
  const ExchangeKeys p256 = keys(1184, 1088, 65);
  EXPECT_EQ(tls_client_share(kTlsSecP256r1MlKem768, p256).key_exchange.front(), 0xb1);
  EXPECT_EQ(tls_server_share(kTlsSecP256r1MlKem768, p256).key_exchange.back(), 0xa2);
}

// The key_share extensions of the handshake in RFC 8448 3, byte for byte but for the keys.
TEST(TlsShares, ExtensionsLikeRfc8448) {
  const TlsShare share{kTlsX25519, std::vector<uint8_t>(32, 0x99)};
  const auto client = tls_client_extension(std::span(&share, 1));
  const std::vector<uint8_t> client_head{0x00, 0x33, 0x00, 0x26, 0x00,
                                         0x24, 0x00, 0x1d, 0x00, 0x20};
  EXPECT_EQ(std::vector<uint8_t>(client.begin(), client.begin() + 10), client_head);
  EXPECT_EQ(client.size(), 42u);
  const auto server = tls_server_extension(share);
  const std::vector<uint8_t> server_head{0x00, 0x33, 0x00, 0x24, 0x00, 0x1d, 0x00, 0x20};
  EXPECT_EQ(std::vector<uint8_t>(server.begin(), server.begin() + 8), server_head);
  EXPECT_EQ(server.size(), 40u);
  // The ServerHello of RFC 8448 3 is 90 bytes: no session id, two extensions of 46 bytes.
  const auto hello = tls_server_hello(share, 0);
  EXPECT_EQ(hello.size(), 90u);
  EXPECT_EQ(hello[3], 86u);
}

TEST(TlsShares, SecondShareInTheClientHello) {
  const TlsShare second{kTlsX25519, std::vector<uint8_t>(32, 1)};
  const ExchangeKeys k = keys(1184, 1088, 32);
  const WireFigures figures = tls_figures(kTlsX25519MlKem768, k, &second);
  EXPECT_EQ(figures.bytes.client_to_server, 1248u);
  EXPECT_EQ(figures.bytes.server_to_client, 1120u);
  EXPECT_EQ(detail(figures, "key_share extensions").bytes.client_to_server, 6u + 1220 + 36);
}

TEST(SshPackets, StringsAndWholePackets) {
  struct Case {
    ExchangeKeys keys;
    size_t init, reply, init_packet, reply_packet;
  };
  // RFC 10042 and RFC 8731 for the strings, RFC 4253 6 for the packets.
  const Case cases[] = {
      {keys(0, 0, 32), 32, 32, 48, 192},               // 240 together
      {keys(1184, 1088, 32), 1216, 1120, 1232, 1280},  // 2,512
      {keys(1184, 1088, 65), 1249, 1153, 1264, 1312},
      {keys(1158, 1039, 32), 1190, 1071, 1208, 1232},  // sntrup761x25519
      {keys(1568, 1568, 97), 1665, 1665, 1680, 1824},
  };
  for (const Case& c : cases) {
    const auto figures = ssh_figures(c.keys);
    ASSERT_TRUE(figures.has_value());
    EXPECT_EQ(figures->bytes.client_to_server, c.init);
    EXPECT_EQ(figures->bytes.server_to_client, c.reply);
    const WireBytes packets = detail(*figures, "whole packets").bytes;
    EXPECT_EQ(packets.client_to_server, c.init_packet);
    EXPECT_EQ(packets.server_to_client, c.reply_packet);
    EXPECT_EQ(ssh_client_init(c.keys).front(), c.keys.kem_public.empty() ? 0xb1 : 0xa1);
    EXPECT_EQ(ssh_server_reply(c.keys).back(), 0xb2);
  }
}

TEST(SshPackets, Ed25519HostKeyBlobs) {
  const auto host_key = ssh_ed25519_host_key(as_bytes("any"));
  ASSERT_TRUE(host_key.has_value());
  EXPECT_EQ(host_key->key_blob.size(), 51u);
  EXPECT_EQ(host_key->signature_blob.size(), 83u);
  EXPECT_EQ(as_text(Bytes(host_key->key_blob).subspan(4, 11)), "ssh-ed25519");
}

// RFC 4253 6: a multiple of 8, at least 16, padding of 4 to 255, for any payload.
TEST(SshPackets, PaddingRules) {
  for (size_t size = 1; size < 64; ++size) {
    const auto packet = ssh_packet(std::vector<uint8_t>(size, 7));
    EXPECT_EQ(packet.size() % 8, 0u);
    EXPECT_GE(packet.size(), 16u);
    EXPECT_EQ(load_be32(packet.data()), packet.size() - 4);
    EXPECT_GE(packet[4], 4);
    EXPECT_LE(packet[4], 11);
    EXPECT_EQ(packet.size(), 5 + size + packet[4]);
  }
}

}  // namespace
}  // namespace pqedge::measure
