// The cipher of session tickets is AES-256-GCM with its tag at the end, whatever the pieces.
#include "crypto/ticket_cipher.h"
#include "crypto/ticket_encapsulation.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "crypto/handles.h"

namespace pqedge::crypto {
namespace {

using Context = std::unique_ptr<EVP_CIPHER_CTX, FreeWith<EVP_CIPHER_CTX_free>>;

std::string from_hex(std::string_view hex) {
  std::string out;
  for (size_t i = 0; i < hex.size(); i += 2) {
    out += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return out;
}

const unsigned char* raw(const std::string& s) {
  return reinterpret_cast<const unsigned char*>(s.data());
}

// Empty: it failed.
std::string apply(bool seal, const std::string& key, const std::string& nonce,
                  const std::string& input, size_t piece) {
  const Context context(EVP_CIPHER_CTX_new());
  EXPECT_EQ(EVP_CipherInit_ex2(context.get(), ticket_cipher(), raw(key), raw(nonce), seal ? 1 : 0,
                               nullptr),
            1);
  std::vector<unsigned char> out(input.size() + 64);
  int total = 0;
  for (size_t at = 0; at < input.size(); at += piece) {
    const size_t n = std::min(piece, input.size() - at);
    int written = 0;
    EXPECT_EQ(EVP_CipherUpdate(context.get(), out.data() + total, &written, raw(input) + at,
                               static_cast<int>(n)),
              1);
    total += written;
  }
  int last = 0;
  if (EVP_CipherFinal_ex(context.get(), out.data() + total, &last) != 1) return {};
  return {reinterpret_cast<char*>(out.data()), static_cast<size_t>(total + last)};
}

// "The Galois/Counter Mode of Operation" (McGrew, Viega), test cases 14 and 15 (AES-256).
const std::string kKey15 =
    from_hex("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308");
const std::string kNonce15 = from_hex("cafebabefacedbaddecaf888");
const std::string kPlain15 = from_hex(
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b5"
    "25b16aedf5aa0de657ba637b391aafd255");
const std::string kSealed15 = from_hex(
    "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b10568288"
    "38"
    "c5f61e6393ba7a0abcc9f662898015ad"
    "b094dac5d93471bdec1a502270e3cc6c");

TEST(TicketCipher, PublishedVectors) {
  EXPECT_EQ(apply(true, std::string(32, '\0'), std::string(12, '\0'), std::string(16, '\0'), 16),
            from_hex("cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919"));
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{16}, size_t{17}, size_t{1000}}) {
    EXPECT_EQ(apply(true, kKey15, kNonce15, kPlain15, piece), kSealed15) << piece;
    EXPECT_EQ(apply(false, kKey15, kNonce15, kSealed15, piece), kPlain15) << piece;
  }
}

TEST(TicketCipher, AnyChangedBitIsFound) {
  for (size_t at = 0; at < kSealed15.size(); at += 5) {
    std::string changed = kSealed15;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    EXPECT_EQ(apply(false, kKey15, kNonce15, changed, 1000), "") << at;
  }
  EXPECT_EQ(apply(false, kKey15, kNonce15, kSealed15.substr(0, 15), 1000), "");
  EXPECT_EQ(apply(false, kKey15, kNonce15, kSealed15.substr(0, 70), 1000), "");
}

// ---- with an encapsulation

// Empty: it failed. `text` in one piece, as OpenSSL gives it.
std::string apply_kem(bool seal, EVP_PKEY* kem, const std::string& key, const std::string& nonce,
                      const std::string& text) {
  const Context context(EVP_CIPHER_CTX_new());
  const TicketKemParameters parameters(kem);
  EXPECT_EQ(EVP_CipherInit_ex2(context.get(), ticket_cipher(), raw(key), raw(nonce), seal ? 1 : 0,
                               parameters.get()),
            1);
  std::vector<unsigned char> out(text.size() + 32);  // the room that OpenSSL leaves
  int n = 0;
  int last = 0;
  if (EVP_CipherUpdate(context.get(), out.data(), &n, raw(text), static_cast<int>(text.size())) !=
          1 ||
      EVP_CipherFinal_ex(context.get(), out.data() + n, &last) != 1) {
    return {};
  }
  EXPECT_LE(static_cast<size_t>(n + last), out.size());
  return {reinterpret_cast<char*>(out.data()), static_cast<size_t>(n + last)};
}

std::string placeholder() {
  const auto& p = ticket_placeholder();
  return {reinterpret_cast<const char*>(p.data()), p.size()};
}

TEST(TicketCipher, AnEncapsulationTakesThePlaceOfItsPlaceholder) {
  const KemKey kem = kem_generate();
  ASSERT_NE(kem, nullptr);
  for (const std::string& text : {placeholder(), "before" + placeholder(), placeholder() + "behind",
                                  std::string(700, 'a') + placeholder() + std::string(40, 'b')}) {
    const std::string sealed = apply_kem(true, kem.get(), kKey15, kNonce15, text);
    EXPECT_EQ(sealed.size(), text.size() + 2 + kTicketTagSize);
    EXPECT_EQ(sealed.find("pqedge"), std::string::npos);
    EXPECT_EQ(apply_kem(false, kem.get(), kKey15, kNonce15, sealed), text);
    // Each ticket has a key of its own.
    EXPECT_NE(apply_kem(true, kem.get(), kKey15, kNonce15, text).substr(kKemCiphertextSize),
              sealed.substr(kKemCiphertextSize));
  }
}

TEST(TicketCipher, AnEncapsulationForAnotherKeyOpensNothing) {
  const KemKey kem = kem_generate();
  const KemKey other = kem_generate();
  const std::string text = "secret" + placeholder();
  const std::string sealed = apply_kem(true, kem.get(), kKey15, kNonce15, text);
  EXPECT_EQ(apply_kem(false, other.get(), kKey15, kNonce15, sealed), "");
  EXPECT_EQ(apply_kem(false, kem.get(), std::string(32, 'k'), kNonce15, sealed), "");
  EXPECT_EQ(apply_kem(false, kem.get(), kKey15, std::string(12, 'n'), sealed), "");
  for (size_t at = 0; at < sealed.size(); at += 61) {
    std::string changed = sealed;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_EQ(apply_kem(false, kem.get(), kKey15, kNonce15, changed), "") << at;
  }
  for (const size_t size :
       {size_t{0}, size_t{1567}, size_t{1568}, size_t{1585}, sealed.size() - 1}) {
    EXPECT_EQ(apply_kem(false, kem.get(), kKey15, kNonce15, sealed.substr(0, size)), "") << size;
  }
}

TEST(TicketCipher, WithoutAPlaceholderNothingIsSealed) {
  EXPECT_EQ(apply_kem(true, kem_generate().get(), kKey15, kNonce15, std::string(2000, 'x')), "");
}

TEST(TicketCipher, OtherCiphersAreStillThere) {
  ASSERT_NE(ticket_cipher(), nullptr);
  EXPECT_EQ(EVP_CIPHER_get_iv_length(ticket_cipher()), 12);
  const CipherPtr chacha(EVP_CIPHER_fetch(nullptr, "ChaCha20-Poly1305", nullptr));
  EXPECT_NE(chacha, nullptr);
}

}  // namespace
}  // namespace pqedge::crypto
