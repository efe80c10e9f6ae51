// Compressed certificates, OCSP responses and timestamps in handshakes with OpenSSL's client.
#include "crypto/certificate_compression.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <ctime>

#include "crypto/certificates_internal.h"
#include "unit/crypto/tls_pair.h"

namespace pqedge::crypto::testing {
namespace {

constexpr std::string_view kTimestamps("\x00\x05\x00\x03\x01xy", 7);  // of an unknown version

// By the libraries' own means. Brotli is for Chromium to unpack: there is no decoder here.
std::string unpacked(CertificateEncoding encoding, const std::string& bytes, size_t size) {
  std::string out(size, '\0');
  auto* to = reinterpret_cast<uint8_t*>(out.data());
  const auto* from = reinterpret_cast<const uint8_t*>(bytes.data());
  size_t got = size;
  switch (encoding) {
    case CertificateEncoding::zlib: {
      uLongf n = size;
      if (uncompress(to, &n, from, bytes.size()) != Z_OK) return "error";
      got = n;
      break;
    }
    case CertificateEncoding::brotli: return "no decoder";
    case CertificateEncoding::zstd: got = ZSTD_decompress(to, size, from, bytes.size()); break;
  }
  return got == size ? out : "wrong size";
}

// The messages that a client got.
struct Seen {
  std::string certificate;  // the whole message, its header included
  std::string compressed;
};

void on_message(int sent, int, int type, const void* data, size_t size, SSL*, void* arg) {
  if (sent != 0 || type != SSL3_RT_HANDSHAKE || size < 4) return;
  const auto* bytes = static_cast<const char*>(data);
  auto* seen = static_cast<Seen*>(arg);
  if (bytes[0] == SSL3_MT_CERTIFICATE) seen->certificate.assign(bytes, size);
  if (bytes[0] == SSL3_MT_COMPRESSED_CERTIFICATE) seen->compressed.assign(bytes, size);
}

// As many octets that are an OCSPResponse (RFC 6960 4.2.1) from outside, with noise as its basic
// response: OpenSSL 4 looks that far at what it sends and gets.
std::string response_of(size_t size) {
  const auto wrapped = [](uint8_t tag, const std::string& content) {
    std::string out{static_cast<char>(tag), '\x82', static_cast<char>(content.size() >> 8),
                    static_cast<char>(content.size())};
    return out + content;
  };
  const std::string basic("\x06\x09\x2b\x06\x01\x05\x05\x07\x30\x01\x01", 11);
  const std::string successful("\x0a\x01\x00", 3);
  const size_t around = 4 * 4 + basic.size() + successful.size();
  const std::string noise = wrapped(0x04, std::string(size - around, 'r'));
  return wrapped(0x30, successful + wrapped(0xa0, wrapped(0x30, basic + noise)));
}

CertificateRef dressed(const std::string& response, std::string_view timestamps) {
  const Identity authority = make_identity({.common_name = "authority", .is_ca = true});
  const Identity leaf = make_identity({.dns = {"example.test"}, .issuer = &authority});
  auto certificate = parse_certificate({leaf.chain_pem, leaf.key_pem, "chain", "key"}).value();
  certificate.ocsp_response = response;
  certificate.ocsp_next_update = response.empty() ? 0 : std::time(nullptr) + 60;
  certificate.signed_timestamps = timestamps;
  return std::make_shared<const Certificate>(std::move(certificate));
}

TlsSettings settings_with(std::vector<std::string> encodings) {
  TlsSettings settings;
  settings.certificate_compression = std::move(encodings);
  settings.certificates.push_back({.chain_file = "x", .key_file = "x", .sct_file = "x"});
  return settings;
}

struct Asked {
  bool status = false;
  bool timestamps = false;
  std::vector<int> encodings;  // empty: what OpenSSL offers by default
  int max_version = 0;
};

Seen handshake(const CertificateRef& certificate, const TlsSettings& settings, const Asked& asked) {
  Seen seen;
  TlsSettings all = settings;
  if (asked.max_version != 0) all.min_version = "1.2";
  Pair pair(make_contexts(all, CertificateStore::make({certificate})),
            {.server_name = "example.test", .max_version = asked.max_version});
  SSL* ssl = pair.client->ssl();
  if (asked.timestamps) SSL_enable_ct(ssl, SSL_CT_VALIDATION_PERMISSIVE);
  // After it: OpenSSL asks for a response where it asks for timestamps.
  SSL_set_tlsext_status_type(ssl, asked.status ? TLSEXT_STATUSTYPE_ocsp : -1);
  if (!asked.encodings.empty()) {
    std::vector<int> codes = asked.encodings;
    SSL_set1_cert_comp_preference(ssl, codes.data(), codes.size());
  }
  SSL_set_msg_callback(ssl, on_message);
  SSL_set_msg_callback_arg(ssl, &seen);
  EXPECT_TRUE(pair.handshake()) << pair.client->failure() << pair.server->handshake_error;
  return seen;
}

std::string header(const std::string& message) {
  const size_t n = message.size();
  return {static_cast<char>(SSL3_MT_CERTIFICATE), static_cast<char>(n >> 16),
          static_cast<char>(n >> 8), static_cast<char>(n)};
}

// What we would compress is what OpenSSL sends, in whatever order it has the extensions.
TEST(CertificateMessage, IsOpenssls) {
  const std::string response = response_of(300);
  for (const bool status : {false, true}) {
    for (const bool timestamps : {false, true}) {
      const CertificateRef c = dressed(response, kTimestamps);
      const Seen seen =
          handshake(c, settings_with({}), {.status = status, .timestamps = timestamps});
      const std::string ours = certificate_message(*c, {status, timestamps});
      EXPECT_EQ(seen.certificate.size(), ours.size() + 4) << status << timestamps;
      if (!status || !timestamps) {
        EXPECT_EQ(seen.certificate, header(ours) + ours);
      }
      EXPECT_EQ(seen.certificate.find(response) != std::string::npos, status);
      EXPECT_EQ(seen.certificate.find(kTimestamps) != std::string::npos, timestamps);
    }
  }
}

TEST(CertificateMessage, ItsFormsUnpackToIt) {
  const CertificateRef c = dressed(response_of(400), kTimestamps);
  for (const auto encoding :
       {CertificateEncoding::zlib, CertificateEncoding::brotli, CertificateEncoding::zstd}) {
    for (const MessageParts parts : {MessageParts{}, MessageParts{true, false},
                                     MessageParts{false, true}, MessageParts{true, true}}) {
      const auto& message = c->compressed->get(*c, encoding, parts);
      const std::string plain = certificate_message(*c, parts);
      ASSERT_EQ(message.plain_size, plain.size());
      ASSERT_LT(message.bytes.size(), plain.size()) << name(encoding);
      if (encoding != CertificateEncoding::brotli) {
        EXPECT_EQ(unpacked(encoding, message.bytes, plain.size()), plain) << name(encoding);
      }
      EXPECT_EQ(&message, &c->compressed->get(*c, encoding, parts)) << "made once";
    }
  }
}

TEST(CertificateCompression, TheBestThatTheClientTakes) {
  const CertificateRef c = dressed({}, {});
  const auto algorithm = [&](std::vector<std::string> ours, std::vector<int> theirs) {
    const Seen seen =
        handshake(c, settings_with(std::move(ours)), {.encodings = std::move(theirs)});
    EXPECT_NE(seen.compressed.empty(), seen.certificate.empty());
    if (seen.compressed.empty()) return 0;
    return int{load_be16(reinterpret_cast<const uint8_t*>(&seen.compressed[4]))};
  };
  EXPECT_EQ(algorithm({"zstd", "zlib"}, {}), 3);
  EXPECT_EQ(algorithm({"zlib", "zstd"}, {}), 1) << "our order";
  EXPECT_EQ(algorithm({"zlib", "zstd"}, {TLSEXT_comp_cert_zstd}), 3);
  EXPECT_EQ(algorithm({"zlib"}, {TLSEXT_comp_cert_zstd}), 0);
  EXPECT_EQ(algorithm({}, {}), 0) << "off";
}

TEST(CertificateCompression, HoldsWhatWasAskedForAndNoMore) {
  const std::string response = response_of(300);
  const CertificateRef c = dressed(response, kTimestamps);
  for (const bool status : {false, true}) {
    for (const bool timestamps : {false, true}) {
      // OpenSSL's client refuses an extension that it did not ask for.
      const Seen seen =
          handshake(c, settings_with({"zlib"}), {.status = status, .timestamps = timestamps});
      ASSERT_GT(seen.compressed.size(), 12u);
      const size_t size = load_be24(reinterpret_cast<const uint8_t*>(&seen.compressed[6]));
      EXPECT_EQ(unpacked(CertificateEncoding::zlib, seen.compressed.substr(12), size),
                certificate_message(*c, {status, timestamps}));
    }
  }
}

// What does not shrink is not sent longer than it is.
TEST(CertificateCompression, OnlyWhereItIsSmaller) {
  CompressedMessages messages;
  const Certificate nothing;
  for (const auto encoding :
       {CertificateEncoding::zlib, CertificateEncoding::brotli, CertificateEncoding::zstd}) {
    EXPECT_FALSE(compress(encoding, certificate_message(nothing, {})).empty());
    EXPECT_TRUE(messages.get(nothing, encoding, {}).bytes.empty());
  }
}

TEST(CertificateCompression, NoneInTls12) {
  const Seen seen =
      handshake(dressed({}, {}), settings_with({"zlib", "zstd"}), {.max_version = TLS1_2_VERSION});
  EXPECT_TRUE(seen.compressed.empty());
  EXPECT_FALSE(seen.certificate.empty());
}

TEST(CertificateExtras, ResponseAndTimestampsInTls12) {
  const CertificateRef c = dressed(response_of(300), kTimestamps);
  TlsSettings settings = settings_with({});
  settings.min_version = "1.2";
  Pair pair(make_contexts(settings, CertificateStore::make({c})),
            {.server_name = "example.test", .max_version = TLS1_2_VERSION});
  SSL_set_tlsext_status_type(pair.client->ssl(), TLSEXT_STATUSTYPE_ocsp);
  SSL_enable_ct(pair.client->ssl(), SSL_CT_VALIDATION_PERMISSIVE);
  ASSERT_TRUE(pair.handshake()) << pair.client->failure();
  const unsigned char* response = nullptr;
  EXPECT_EQ(SSL_get_tlsext_status_ocsp_resp(pair.client->ssl(), &response), 300);
}

TEST(CertificateExtras, AResponseThatRanOutIsNotSent) {
  auto copy = std::make_shared<Certificate>(dressed(response_of(300), {})->copy());
  copy->ocsp_next_update = std::time(nullptr) - 1;
  copy->ocsp_response = response_of(300);
  for (const auto& encodings : std::vector<std::vector<std::string>>{{}, {"zlib"}}) {
    const Seen seen = handshake(copy, settings_with(encodings), {.status = true});
    const std::string plain = certificate_message(*copy, {});
    if (encodings.empty()) {
      EXPECT_EQ(seen.certificate.size(), plain.size() + 4);
    } else {
      EXPECT_EQ(load_be24(reinterpret_cast<const uint8_t*>(&seen.compressed[6])), plain.size());
    }
  }
}

TEST(CertificateExtras, StaplingOffSendsNone) {
  TlsSettings settings = settings_with({});
  settings.ocsp.stapling = false;
  const CertificateRef c = dressed(response_of(300), {});
  const Seen seen = handshake(c, settings, {.status = true});
  EXPECT_EQ(seen.certificate.size(), certificate_message(*c, {}).size() + 4);
}

// Brotli is ours to compress, and OpenSSL's to negotiate (brotli_offer.cc).
TEST(Brotli, IsSentButNeverOfferedByOurClients) {
  EXPECT_TRUE(library_sends(CertificateEncoding::zlib));
  EXPECT_TRUE(library_sends(CertificateEncoding::zstd));
  EXPECT_TRUE(library_sends(CertificateEncoding::brotli));
#ifdef OPENSSL_NO_BROTLI
  int code = TLSEXT_comp_cert_brotli;
  const SslCtxPtr client(SSL_CTX_new(TLS_client_method()));
  EXPECT_EQ(SSL_CTX_set1_cert_comp_preference(client.get(), &code, 1), 0);
  // After handshakes of a server that sends it, also in one that stopped half-way.
  const CertificateRef c = dressed({}, {});
  handshake(c, settings_with({"brotli"}), {});
  EXPECT_EQ(SSL_CTX_set1_cert_comp_preference(client.get(), &code, 1), 0);
#endif
}

}  // namespace
}  // namespace pqedge::crypto::testing
