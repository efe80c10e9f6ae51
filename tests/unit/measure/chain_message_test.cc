#include "measure/chain/certificate_message.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include "base/text.h"

namespace pqedge::measure {
namespace {

// RFC 8448 3: the server's Certificate message of the simple 1-RTT handshake has one certificate of
// 432 bytes and begins and ends so.
TEST(CertificateMessage, IsFramedAsInRfc8448) {
  const auto message = encode_certificate_message({{std::vector<uint8_t>(432, 0x30)}, {}, {}});
  EXPECT_EQ(message.size(), 445u);
  EXPECT_EQ(to_hex(Bytes(message).first(11)), "0b0001b9000001b50001b0");
  EXPECT_EQ(to_hex(Bytes(message).last(3)), "300000");
}

// RFC 8446 4.4.2.1 and RFC 6066 8: extension 5, status_type 1, a response of 24-bit length;
// RFC 6962 3.3.1: extension 18 with the list.
TEST(CertificateMessage, CarriesStapleAndSctsWithTheLeafAlone) {
  const std::vector<uint8_t> leaf(2, 0xaa);
  const std::vector<uint8_t> intermediate(1, 0xbb);
  const auto message = encode_certificate_message({{leaf, intermediate}, {0x00, 0x00}, {0xcc}});
  EXPECT_EQ(to_hex(message),
            "0b000020"
            "00"
            "00001c"
            "000002aaaa"
            "000f"
            "0005000501000001cc"
            "001200020000"
            "000001bb0000");
}

TEST(CertificateMessage, IsCompressedAsRfc8879Says) {
  const auto message = encode_certificate_message({{std::vector<uint8_t>(1000, 0x41)}, {}, {}});
  const Bytes body = Bytes(message).subspan(4);
  for (const auto algorithm : kCertificateCompressions) {
    const auto packed = compress_certificate_message(message, algorithm);
    ASSERT_TRUE(packed.has_value());
    ASSERT_GT(packed->size(), 12u);
    EXPECT_EQ((*packed)[0], 25);  // compressed_certificate
    EXPECT_EQ(load_be24(packed->data() + 1), packed->size() - 4);
    EXPECT_EQ(load_be16(packed->data() + 4), static_cast<int>(algorithm));
    EXPECT_EQ(load_be24(packed->data() + 6), body.size());
    EXPECT_EQ(load_be24(packed->data() + 9), packed->size() - 12);
    EXPECT_LT(packed->size(), 100u);
  }
}

TEST(CertificateMessage, ComesBackFromZlibAndZstd) {
  const auto message = encode_certificate_message({{std::vector<uint8_t>(500, 7)}, {}, {}});
  const std::vector<uint8_t> body(message.begin() + 4, message.end());
  std::vector<uint8_t> out(body.size());
  const auto deflated = compress_certificate_message(message, CertificateCompression::zlib);
  uLongf size = out.size();
  ASSERT_EQ(uncompress(out.data(), &size, deflated->data() + 12, deflated->size() - 12), Z_OK);
  EXPECT_EQ(out, body);
  const auto zstd = compress_certificate_message(message, CertificateCompression::zstd);
  out.assign(body.size(), 0);
  ASSERT_EQ(ZSTD_decompress(out.data(), out.size(), zstd->data() + 12, zstd->size() - 12),
            body.size());
  EXPECT_EQ(out, body);
}

}  // namespace
}  // namespace pqedge::measure
