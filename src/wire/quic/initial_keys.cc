#include "wire/quic/initial_keys.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "wire/quic/long_header.h"

namespace pqedge::quic {
namespace {

using Digest = std::array<uint8_t, 32>;
using Salt = std::array<uint8_t, 20>;
using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

// RFC 9001 5.2 and RFC 9369 3.3.1.
constexpr Salt kSalt1{0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17,
                      0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad, 0xcc, 0xbb, 0x7f, 0x0a};
constexpr Salt kSalt2{0x0d, 0xed, 0xe3, 0xde, 0xf7, 0x00, 0xa6, 0xdb, 0x81, 0x93,
                      0x81, 0xbe, 0x6e, 0x26, 0x9d, 0xcb, 0xf9, 0xbd, 0x2e, 0xd9};
constexpr size_t kTag = 16;
constexpr size_t kSample = 16;
constexpr size_t kMaxNumber = 4;

bool hmac(Bytes key, Bytes data, Digest& out) {
  unsigned int size = 0;
  return HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), data.data(), data.size(),
              out.data(), &size) != nullptr &&
         size == out.size();
}

// HKDF-Expand-Label (RFC 8446 7.1), for at most one block of SHA-256.
bool expand_label(Bytes secret, std::string_view label, MutableBytes out) {
  constexpr std::string_view kPrefix = "tls13 ";
  std::array<uint8_t, 32> info{};
  size_t n = 0;
  info[n++] = 0;
  info[n++] = static_cast<uint8_t>(out.size());
  info[n++] = static_cast<uint8_t>(kPrefix.size() + label.size());
  for (const char c : kPrefix) info[n++] = static_cast<uint8_t>(c);
  for (const char c : label) info[n++] = static_cast<uint8_t>(c);
  info[n++] = 0;  // no context
  info[n++] = 1;  // the first block of HKDF-Expand (RFC 5869 2.3)
  Digest block;
  if (!hmac(secret, Bytes(info).first(n), block)) return false;
  std::copy_n(block.begin(), out.size(), out.begin());
  return true;
}

// A context of the thread, and ciphers that are fetched once.
EVP_CIPHER_CTX* context() {
  thread_local const CipherContext made(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  return made.get();
}

const EVP_CIPHER* block_cipher() {
  static EVP_CIPHER* const cipher = EVP_CIPHER_fetch(nullptr, "AES-128-ECB", nullptr);
  return cipher;
}

const EVP_CIPHER* packet_cipher() {
  static EVP_CIPHER* const cipher = EVP_CIPHER_fetch(nullptr, "AES-128-GCM", nullptr);
  return cipher;
}

// RFC 9001 5.4.3.
bool header_mask(Bytes sample, const InitialKeys& keys, std::array<uint8_t, 16>& mask) {
  EVP_CIPHER_CTX* c = context();
  int n = 0;
  return c != nullptr &&
         EVP_EncryptInit_ex2(c, block_cipher(), keys.header.data(), nullptr, nullptr) == 1 &&
         EVP_CIPHER_CTX_set_padding(c, 0) == 1 &&
         EVP_EncryptUpdate(c, mask.data(), &n, sample.data(), static_cast<int>(kSample)) == 1 &&
         n == static_cast<int>(kSample);
}

bool decrypt(const InitialKeys& keys, const std::array<uint8_t, 12>& nonce, Bytes header,
             Bytes sealed, uint8_t* out) {
  EVP_CIPHER_CTX* c = context();
  const size_t size = sealed.size() - kTag;
  std::array<uint8_t, kTag> tag;
  std::copy_n(sealed.data() + size, kTag, tag.begin());
  int n = 0;
  return EVP_DecryptInit_ex2(c, packet_cipher(), keys.key.data(), nonce.data(), nullptr) == 1 &&
         EVP_DecryptUpdate(c, nullptr, &n, header.data(), static_cast<int>(header.size())) == 1 &&
         EVP_DecryptUpdate(c, out, &n, sealed.data(), static_cast<int>(size)) == 1 &&
         EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, static_cast<int>(kTag), tag.data()) == 1 &&
         EVP_DecryptFinal_ex(c, out + n, &n) == 1;
}

// RFC 9000 A.3.
uint64_t whole_number(uint64_t truncated, size_t bytes, uint64_t largest) {
  const uint64_t expected = largest + 1;
  const uint64_t window = uint64_t{1} << (8 * bytes);
  const uint64_t candidate = (expected & ~(window - 1)) | truncated;
  if (candidate + window / 2 <= expected) return candidate + window;
  if (candidate > expected + window / 2 && candidate >= window) return candidate - window;
  return candidate;
}

}  // namespace

std::optional<InitialKeys> client_initial_keys(uint32_t version, Bytes destination) {
  const bool second = version == kVersion2;
  Digest initial;
  Digest secret;
  InitialKeys keys;
  if (!hmac(second ? kSalt2 : kSalt1, destination, initial) ||
      !expand_label(initial, "client in", secret) ||
      !expand_label(secret, second ? "quicv2 key" : "quic key", keys.key) ||
      !expand_label(secret, second ? "quicv2 iv" : "quic iv", keys.iv) ||
      !expand_label(secret, second ? "quicv2 hp" : "quic hp", keys.header)) {
    return std::nullopt;
  }
  return keys;
}

std::optional<OpenedInitial> open_initial(Bytes packet, size_t number_offset,
                                          const InitialKeys& keys, uint64_t largest) {
  if (packet.size() < number_offset + kMaxNumber + kSample) return std::nullopt;
  std::array<uint8_t, 16> mask;
  if (!header_mask(packet.subspan(number_offset + kMaxNumber, kSample), keys, mask)) {
    return std::nullopt;
  }
  thread_local std::vector<uint8_t> header;
  thread_local std::vector<uint8_t> frames;
  header.assign(packet.begin(),
                packet.begin() + static_cast<std::ptrdiff_t>(number_offset + kMaxNumber));
  header[0] ^= mask[0] & 0x0f;
  const size_t length = size_t{1} + (header[0] & 3);
  uint64_t truncated = 0;
  for (size_t i = 0; i < length; ++i) {
    header[number_offset + i] ^= mask[1 + i];
    truncated = truncated << 8 | header[number_offset + i];
  }
  OpenedInitial opened;
  opened.number = whole_number(truncated, length, largest);
  std::array<uint8_t, 12> nonce = keys.iv;
  for (size_t i = 0; i < 8; ++i) {
    nonce[4 + i] ^= static_cast<uint8_t>(opened.number >> (8 * (7 - i)));
  }
  const Bytes sealed = packet.subspan(number_offset + length);
  if (sealed.size() < kTag) return std::nullopt;
  frames.resize(std::max(frames.size(), sealed.size()));
  if (!decrypt(keys, nonce, Bytes(header).first(number_offset + length), sealed, frames.data())) {
    return std::nullopt;
  }
  opened.frames = Bytes(frames).first(sealed.size() - kTag);
  return opened;
}

}  // namespace pqedge::quic
