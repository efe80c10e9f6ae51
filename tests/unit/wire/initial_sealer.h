// Makes Initial packets as a client sends them, for what reads them.
#pragma once

#include <openssl/evp.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "wire/quic/initial_keys.h"
#include "wire/quic/long_header.h"
#include "wire/quic/varint.h"

namespace pqedge::quic::test {

using Buffer = std::vector<uint8_t>;

inline void append(Buffer& out, Bytes bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); }

inline void append_varint(Buffer& out, uint64_t value) {
  uint8_t bytes[8];
  append(out, {bytes, static_cast<size_t>(store_varint(bytes, value) - bytes)});
}

inline Buffer crypto_frame(uint64_t offset, Bytes data) {
  Buffer out{0x06};
  append_varint(out, offset);
  append_varint(out, data.size());
  append(out, data);
  return out;
}

inline bool seal_aead(const InitialKeys& keys, Bytes nonce, Bytes header, Bytes plain,
                      Buffer& out) {
  const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> c(EVP_CIPHER_CTX_new(),
                                                                          EVP_CIPHER_CTX_free);
  out.resize(plain.size() + 16);
  int n = 0;
  int last = 0;
  return EVP_EncryptInit_ex2(c.get(), EVP_aes_128_gcm(), keys.key.data(), nonce.data(), nullptr) ==
             1 &&
         EVP_EncryptUpdate(c.get(), nullptr, &n, header.data(), static_cast<int>(header.size())) ==
             1 &&
         EVP_EncryptUpdate(c.get(), out.data(), &n, plain.data(), static_cast<int>(plain.size())) ==
             1 &&
         EVP_EncryptFinal_ex(c.get(), out.data() + n, &last) == 1 &&
         EVP_CIPHER_CTX_ctrl(c.get(), EVP_CTRL_AEAD_GET_TAG, 16, out.data() + plain.size()) == 1;
}

inline Buffer header_mask(const InitialKeys& keys, Bytes sample) {
  const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> c(EVP_CIPHER_CTX_new(),
                                                                          EVP_CIPHER_CTX_free);
  Buffer mask(32);
  int n = 0;
  if (EVP_EncryptInit_ex2(c.get(), EVP_aes_128_ecb(), keys.header.data(), nullptr, nullptr) != 1 ||
      EVP_EncryptUpdate(c.get(), mask.data(), &n, sample.data(), 16) != 1) {
    std::abort();
  }
  return mask;
}

// One Initial packet of a client, with a packet number of `number_size` bytes. `frames` should have
// four bytes at least, or the packet has no sample.
inline Buffer seal_initial(uint32_t version, Bytes destination, Bytes source, uint64_t number,
                           size_t number_size, Bytes frames) {
  const InitialKeys keys = client_initial_keys(version, destination).value();
  const uint8_t type = version == kVersion2 ? 1 : 0;
  Buffer packet{static_cast<uint8_t>(0xc0 | type << 4 | (number_size - 1))};
  uint8_t four[4];
  store_be32(four, version);
  append(packet, four);
  packet.push_back(static_cast<uint8_t>(destination.size()));
  append(packet, destination);
  packet.push_back(static_cast<uint8_t>(source.size()));
  append(packet, source);
  packet.push_back(0);  // no token
  const size_t length = number_size + frames.size() + 16;
  packet.push_back(static_cast<uint8_t>(0x40 | length >> 8));  // a varint of two bytes
  packet.push_back(static_cast<uint8_t>(length));
  const size_t number_offset = packet.size();
  for (size_t i = number_size; i-- > 0;) packet.push_back(static_cast<uint8_t>(number >> (8 * i)));
  Buffer nonce(keys.iv.begin(), keys.iv.end());
  for (size_t i = 0; i < 8; ++i) nonce[4 + i] ^= static_cast<uint8_t>(number >> (8 * (7 - i)));
  Buffer sealed;
  if (!seal_aead(keys, nonce, packet, frames, sealed)) std::abort();
  append(packet, sealed);
  const Buffer mask = header_mask(keys, Bytes(packet).subspan(number_offset + 4, 16));
  packet[0] ^= mask[0] & 0x0f;
  for (size_t i = 0; i < number_size; ++i) packet[number_offset + i] ^= mask[1 + i];
  return packet;
}

}  // namespace pqedge::quic::test
