// The ClientHello reader: against OpenSSL's own hellos, captured ones, and damaged ones.
#include "crypto/client_hello.h"

#include <gtest/gtest.h>
#include <openssl/sha.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "base/text.h"
#include "unit/crypto/tls_pair.h"

namespace pqedge::crypto::testing {
namespace {

std::string u8(size_t n) { return {static_cast<char>(n)}; }
std::string u16(size_t n) { return {static_cast<char>(n >> 8), static_cast<char>(n)}; }
std::string vec8(const std::string& s) { return u8(s.size()) + s; }
std::string vec16(const std::string& s) { return u16(s.size()) + s; }
std::string ext(uint16_t type, const std::string& body) { return u16(type) + vec16(body); }

// A hello around an extension block (RFC 8446 4.1.2).
std::string hello_with(const std::string& extensions, const std::string& tail = "") {
  const std::string body = u16(0x0303) + std::string(32, 'r') + vec8("session") +
                           vec16(u16(0x1302) + u16(0x1301)) + vec8(std::string(1, '\0')) +
                           vec16(extensions) + tail;
  return u8(1) + u8(body.size() >> 16) + u16(body.size() & 0xffff) + body;
}

std::expected<ClientHello, HelloFault> parse(const std::string& message) {
  return parse_client_hello(as_bytes(message));
}

HelloFault fault_of(const std::string& message) {
  const auto hello = parse(message);
  EXPECT_FALSE(hello.has_value());
  return hello ? HelloFault::not_client_hello : hello.error();
}

// The first message that OpenSSL's client sends, without the record header.
std::string openssl_hello(const Client::Options& options) {
  Client client(-1, options);
  SSL_do_handshake(client.ssl());
  const char* data = nullptr;
  const long n = BIO_get_mem_data(SSL_get_wbio(client.ssl()), &data);
  return std::string(data, static_cast<size_t>(n)).substr(5);
}

TEST(ClientHelloReader, ReadsWhatOpenSslSends) {
  const std::string message =
      openssl_hello({.groups = "X25519MLKEM768:*X25519:P-256",
                     .server_name = "Example.Test",
                     .alpn = {"h2", "http/1.1"},
                     .signature_algorithms = "mldsa65:ecdsa_secp256r1_sha256"});
  const auto hello = parse(message);
  ASSERT_TRUE(hello) << name(hello.error());
  EXPECT_EQ(hello->legacy_version, 0x0303);
  EXPECT_EQ(hello->random.size(), 32u);
  EXPECT_EQ(hello->session_id.size(), 32u);
  EXPECT_TRUE(hello->cipher_suites.contains(0x1302));
  EXPECT_EQ(hello->compression_methods.size(), 1u);
  EXPECT_EQ(hello->server_name, "Example.Test");
  EXPECT_TRUE(hello->supported_versions.contains(0x0304));
  ASSERT_EQ(hello->supported_groups.size(), 3u);
  EXPECT_EQ(hello->supported_groups[0], 0x11ec);
  EXPECT_EQ(hello->supported_groups[1], 0x001d);
  EXPECT_EQ(hello->supported_groups[2], 0x0017);
  ASSERT_EQ(hello->signature_algorithms.size(), 2u);
  EXPECT_EQ(hello->signature_algorithms[0], 0x0905);  // mldsa65
  EXPECT_EQ(hello->signature_algorithms[1], 0x0403);
  std::vector<std::string_view> protocols;
  for (const ProtocolName& p : hello->alpn) protocols.push_back(p.name);
  EXPECT_EQ(protocols, (std::vector<std::string_view>{"h2", "http/1.1"}));
  std::vector<std::pair<uint16_t, size_t>> shares;
  for (const KeyShare& share : hello->key_shares)
    shares.emplace_back(share.group, share.key.size());
  EXPECT_EQ(shares, (std::vector<std::pair<uint16_t, size_t>>{{0x001d, 32}}));
  EXPECT_TRUE(offers_post_quantum(*hello));
  size_t count = 0;
  for (const Extension& e : hello->extensions) {
    EXPECT_GE(e.body.data(), reinterpret_cast<const uint8_t*>(message.data()));
    ++count;
  }
  EXPECT_EQ(count, hello->extension_count);
  const std::string classical_message = openssl_hello({.groups = "X25519:P-256"});
  const auto classical = parse(classical_message);
  ASSERT_TRUE(classical);
  EXPECT_FALSE(offers_post_quantum(*classical));
}

TEST(ClientHelloReader, SharesOfTheHybrids) {
  // Sizes of RFC 10024: 1,216, 1,249 and 1,665 bytes.
  const std::pair<const char*, size_t> expected[] = {
      {"X25519MLKEM768", 1216}, {"SecP256r1MLKEM768", 1249}, {"SecP384r1MLKEM1024", 1665}};
  for (const auto& [group, size] : expected) {
    const std::string message = openssl_hello({.groups = group});
    const auto hello = parse(message);
    ASSERT_TRUE(hello);
    EXPECT_EQ(hello->key_shares.begin()->key.size(), size) << group;
  }
}

// RFC 5246 7.4.1.2: before TLS 1.3 the block may be missing.
TEST(ClientHelloReader, HelloWithoutExtensions) {
  std::string message = hello_with("");
  message.resize(message.size() - 2);
  message[3] = static_cast<char>(message.size() - 4);
  const auto hello = parse(message);
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->extension_count, 0u);
  EXPECT_TRUE(hello->extensions.empty());
  EXPECT_EQ(hello->extensions.begin(), hello->extensions.end());
}

TEST(ClientHelloReader, EveryCutIsAFault) {
  const std::string message = openssl_hello({.server_name = "example.test"});
  for (size_t n = 0; n < message.size(); ++n) {
    std::string cut = message.substr(0, n);
    EXPECT_FALSE(parse(cut)) << n;
    if (n < 4) continue;
    // Also with a header that agrees with the cut.
    cut[1] = 0;
    cut[2] = static_cast<char>((n - 4) >> 8);
    cut[3] = static_cast<char>(n - 4);
    const auto hello = parse(cut);
    // Only the end of the compression methods is an end.
    EXPECT_TRUE(!hello || hello->extension_count == 0) << n;
  }
}

TEST(ClientHelloReader, FaultsAreNamed) {
  const std::string name_ext = ext(0, vec16(u8(0) + vec16("a.test")));
  EXPECT_TRUE(parse(hello_with(name_ext)));
  EXPECT_EQ(fault_of(hello_with(name_ext, "x")), HelloFault::trailing_bytes);
  EXPECT_EQ(fault_of(hello_with(name_ext + name_ext)), HelloFault::duplicate_extension);
  EXPECT_EQ(fault_of(hello_with(ext(0x1234, "") + ext(0x1234, "x"))),
            HelloFault::duplicate_extension);
  EXPECT_EQ(fault_of(hello_with(ext(41, "psk") + name_ext)), HelloFault::psk_not_last);
  EXPECT_TRUE(parse(hello_with(name_ext + ext(41, "psk"))));
  EXPECT_EQ(fault_of(hello_with(u16(5) + u16(10) + "short")), HelloFault::truncated);
  EXPECT_EQ(fault_of("\x02" + hello_with(name_ext).substr(1)), HelloFault::not_client_hello);
  EXPECT_EQ(fault_of(hello_with(name_ext) + "x"), HelloFault::not_client_hello);
  EXPECT_EQ(fault_of(hello_with(ext(42, "x"))), HelloFault::trailing_bytes);
}

// RFC 6066 3: one name, of type host_name, not empty.
TEST(ClientHelloReader, ServerNameLists) {
  const auto list = [](const std::string& entries) { return hello_with(ext(0, vec16(entries))); };
  const std::string host = u8(0) + vec16("a.test");
  EXPECT_EQ(fault_of(list(host + host)), HelloFault::bad_server_name_list);
  EXPECT_EQ(fault_of(list(u8(1) + vec16("a.test"))), HelloFault::bad_server_name_list);
  EXPECT_EQ(fault_of(list(u8(0) + vec16(""))), HelloFault::bad_server_name_list);
  EXPECT_EQ(fault_of(list("")), HelloFault::bad_length);
  EXPECT_EQ(fault_of(hello_with(ext(0, ""))), HelloFault::truncated);
  EXPECT_EQ(fault_of(hello_with(ext(0, vec16(host) + "x"))), HelloFault::trailing_bytes);
}

TEST(ClientHelloReader, ListsOfWrongLength) {
  EXPECT_EQ(fault_of(hello_with(ext(10, vec16("abc")))), HelloFault::bad_length);
  EXPECT_EQ(fault_of(hello_with(ext(10, vec16("")))), HelloFault::bad_length);
  EXPECT_EQ(fault_of(hello_with(ext(13, vec16("a")))), HelloFault::bad_length);
  EXPECT_EQ(fault_of(hello_with(ext(43, vec8("abc")))), HelloFault::bad_length);
  EXPECT_EQ(fault_of(hello_with(ext(16, vec16(vec8("h2") + vec8(""))))), HelloFault::bad_length);
  EXPECT_EQ(fault_of(hello_with(ext(16, vec16(u8(9) + "h2")))), HelloFault::truncated);
  EXPECT_EQ(fault_of(hello_with(ext(51, vec16(u16(29) + vec16(""))))), HelloFault::bad_length);
  EXPECT_EQ(fault_of(hello_with(ext(51, vec16(u16(29) + u16(40) + "x")))), HelloFault::truncated);
  // An empty list asks for a HelloRetryRequest (RFC 8446 4.2.8).
  const std::string empty_shares = hello_with(ext(51, vec16("")));
  const auto hello = parse(empty_shares);
  ASSERT_TRUE(hello);
  EXPECT_TRUE(hello->has_key_share);
  EXPECT_TRUE(hello->key_shares.empty());
}

TEST(ClientHelloReader, ExtensionsAreBounded) {
  std::string block;
  for (size_t i = 0; i < kMaxExtensions; ++i) block += ext(static_cast<uint16_t>(1000 + i), "");
  EXPECT_TRUE(parse(hello_with(block)));
  block += ext(2000, "");
  EXPECT_EQ(fault_of(hello_with(block)), HelloFault::too_many_extensions);
}

TEST(ClientHelloReader, GreaseIsRecognised) {  // RFC 8701 2
  for (unsigned v = 0; v <= 0xffff; ++v) {
    const bool grease = (v & 0xff) == (v >> 8) && (v & 0x0f) == 0x0a;
    EXPECT_EQ(is_grease(static_cast<uint16_t>(v)), grease) << v;
  }
}

// ---- captured hellos ---------------------------------------------------------------------------

// JA4 (FoxIO, ja4/README.md) over what the reader found. That the values of others come out right
// shows that nothing was lost or put in another order.
std::string hex4(uint16_t v) { return std::format("{:04x}", v); }

std::string hash12(const std::string& text) {
  if (text.empty()) return "000000000000";
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
  return to_hex({digest, 6});
}

std::string join(const std::vector<std::string>& parts) {
  std::string s;
  for (const std::string& p : parts) s += (s.empty() ? "" : ",") + p;
  return s;
}

std::string ja4_version(const ClientHello& hello) {
  uint16_t best = 0;
  for (size_t i = 0; i < hello.supported_versions.size(); ++i) {
    if (!is_grease(hello.supported_versions[i])) best = std::max(best, hello.supported_versions[i]);
  }
  if (best == 0) best = hello.legacy_version;
  switch (best) {
    case 0x0304: return "13";
    case 0x0303: return "12";
    case 0x0302: return "11";
    case 0x0301: return "10";
    case 0x0300: return "s3";
    default: return "00";
  }
}

std::string ja4_alpn(const ClientHello& hello) {
  if (hello.alpn.empty()) return "00";
  const std::string_view first = hello.alpn.begin()->name;
  const auto is_alnum = [](char c) {
    return is_digit(c) || (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z');
  };
  if (is_alnum(first.front()) && is_alnum(first.back())) return {first.front(), first.back()};
  const std::string hex = to_hex(as_bytes(first));
  return {hex.front(), hex.back()};
}

std::string ja4(const ClientHello& hello, bool quic) {
  std::vector<std::string> ciphers;
  for (size_t i = 0; i < hello.cipher_suites.size(); ++i) {
    if (!is_grease(hello.cipher_suites[i])) ciphers.push_back(hex4(hello.cipher_suites[i]));
  }
  std::vector<std::string> extensions;
  size_t count = 0;
  for (const Extension& e : hello.extensions) {
    if (is_grease(e.type)) continue;
    ++count;
    if (e.type != extension::kServerName && e.type != extension::kAlpn) {
      extensions.push_back(hex4(e.type));
    }
  }
  std::vector<std::string> schemes;
  for (size_t i = 0; i < hello.signature_algorithms.size(); ++i) {
    if (!is_grease(hello.signature_algorithms[i]))
      schemes.push_back(hex4(hello.signature_algorithms[i]));
  }
  std::ranges::sort(ciphers);
  std::ranges::sort(extensions);
  std::string c = join(extensions);
  if (!c.empty() && !schemes.empty()) c += "_" + join(schemes);
  return std::format("{}{}{}{:02}{:02}{}_{}_{}", quic ? 'q' : 't', ja4_version(hello),
                     hello.has_server_name ? 'd' : 'i', std::min<size_t>(ciphers.size(), 99),
                     std::min<size_t>(count, 99), ja4_alpn(hello), hash12(join(ciphers)),
                     hash12(c));
}

std::string corpora() {
  if (const char* path = std::getenv("PQEDGE_CORPORA")) return path;
  const char* source = std::getenv("PQEDGE_SRC");
  return (source == nullptr ? std::string(".") : std::string(source)) + "/../shared/corpora";
}

// The text of a member of a flat JSON object without escapes.
std::string member(const std::string& line, const std::string& key) {
  const std::string start = "\"" + key + "\": \"";
  const size_t at = line.find(start);
  if (at == line.npos) return {};
  const size_t begin = at + start.size();
  return line.substr(begin, line.find('"', begin) - begin);
}

TEST(ClientHelloReader, CapturedHellosHaveTheirJa4) {
  std::ifstream file(corpora() + "/ja4/client-hellos.jsonl");
  if (!file) {
    const char* required = std::getenv("PQEDGE_REQUIRE_CORPORA");
    ASSERT_FALSE(required != nullptr && std::string_view(required) == "1")
        << "ja4/client-hellos.jsonl is not in " << corpora();
    GTEST_SKIP() << "ja4/client-hellos.jsonl is not in " << corpora();
  }
  size_t lines = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    const auto message = from_hex(member(line, "client_hello"));
    ASSERT_TRUE(message) << line;
    const auto hello = parse(*message);
    ASSERT_TRUE(hello) << name(hello.error()) << " in " << line;
    EXPECT_EQ(ja4(*hello, member(line, "transport") == "quic"), member(line, "ja4")) << line;
  }
  EXPECT_GT(lines, 10u);
}

}  // namespace
}  // namespace pqedge::crypto::testing
