#include "measure/live/quic_initial.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include <algorithm>
#include <string_view>

#include "crypto/handles.h"
#include "wire/quic/varint.h"

namespace pqedge::measure::live {

namespace {

using Digest = std::array<uint8_t, 32>;
using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, crypto::FreeWith<EVP_CIPHER_CTX_free>>;

// RFC 9001 5.2.
constexpr std::array<uint8_t, 20> kSalt{0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17,
                                        0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad, 0xcc, 0xbb, 0x7f, 0x0a};
constexpr uint32_t kVersion1 = 1;
constexpr size_t kTag = 16;

Digest hmac(Bytes key, Bytes data) {
  Digest out{};
  unsigned int size = out.size();
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), data.data(), data.size(), out.data(),
       &size);
  return out;
}

// HKDF-Expand-Label (RFC 8446 7.1) for outputs of at most one block of SHA-256.
void expand_label(Bytes secret, std::string_view label, MutableBytes out) {
  std::vector<uint8_t> info{0, static_cast<uint8_t>(out.size()),
                            static_cast<uint8_t>(6 + label.size())};
  for (const char c : std::string_view("tls13 ")) info.push_back(static_cast<uint8_t>(c));
  for (const char c : label) info.push_back(static_cast<uint8_t>(c));
  info.push_back(0);  // no context
  info.push_back(1);  // the first block of HKDF-Expand (RFC 5869 2.3)
  const Digest block = hmac(secret, info);
  std::copy_n(block.begin(), out.size(), out.begin());
}

std::array<uint8_t, 16> header_mask(Bytes sample, const InitialKeys& keys) {
  std::array<uint8_t, 16> mask{};
  const CipherContext context(EVP_CIPHER_CTX_new());
  int size = 0;
  EVP_EncryptInit_ex2(context.get(), EVP_aes_128_ecb(), keys.hp.data(), nullptr, nullptr);
  EVP_CIPHER_CTX_set_padding(context.get(), 0);
  EVP_EncryptUpdate(context.get(), mask.data(), &size, sample.data(), 16);
  return mask;
}

bool decrypt(const InitialKeys& keys, const std::array<uint8_t, 12>& nonce, Bytes header,
             Bytes sealed, std::vector<uint8_t>& out) {
  const CipherContext context(EVP_CIPHER_CTX_new());
  const size_t size = sealed.size() - kTag;
  out.resize(size);
  int done = 0;
  std::array<uint8_t, kTag> tag;
  std::copy_n(sealed.begin() + static_cast<std::ptrdiff_t>(size), kTag, tag.begin());
  return EVP_DecryptInit_ex2(context.get(), EVP_aes_128_gcm(), keys.key.data(), nonce.data(),
                             nullptr) == 1 &&
         EVP_DecryptUpdate(context.get(), nullptr, &done, header.data(),
                           static_cast<int>(header.size())) == 1 &&
         EVP_DecryptUpdate(context.get(), out.data(), &done, sealed.data(),
                           static_cast<int>(size)) == 1 &&
         EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, kTag, tag.data()) == 1 &&
         EVP_DecryptFinal_ex(context.get(), out.data() + done, &done) == 1;
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

InitialKeys initial_keys(Bytes destination_id, bool server) {
  const Digest initial = hmac(kSalt, destination_id);
  Digest secret;
  expand_label(initial, server ? "server in" : "client in", secret);
  InitialKeys keys;
  expand_label(secret, "quic key", keys.key);
  expand_label(secret, "quic iv", keys.iv);
  expand_label(secret, "quic hp", keys.hp);
  return keys;
}

std::optional<InitialPacket> open_initial(Bytes packet, size_t number_offset,
                                          const InitialKeys& keys, uint64_t largest_seen) {
  if (packet.size() < number_offset + 4 + 16) return std::nullopt;
  const auto mask = header_mask(packet.subspan(number_offset + 4, 16), keys);
  std::vector<uint8_t> header(packet.begin(),
                              packet.begin() + static_cast<std::ptrdiff_t>(number_offset + 4));
  header[0] ^= mask[0] & 0x0f;
  const size_t length = size_t{1} + (header[0] & 3);
  header.resize(number_offset + length);
  uint64_t truncated = 0;
  for (size_t i = 0; i < length; ++i) {
    header[number_offset + i] ^= mask[1 + i];
    truncated = truncated << 8 | header[number_offset + i];
  }
  InitialPacket opened;
  opened.number = whole_number(truncated, length, largest_seen);
  std::array<uint8_t, 12> nonce = keys.iv;
  for (size_t i = 0; i < 8; ++i) {
    nonce[4 + i] ^= static_cast<uint8_t>(opened.number >> (8 * (7 - i)));
  }
  const Bytes sealed = packet.subspan(header.size());
  if (sealed.size() < kTag || !decrypt(keys, nonce, header, sealed, opened.payload)) {
    return std::nullopt;
  }
  return opened;
}

void QuicReader::set_keys(Bytes destination_id) {
  client_.keys = initial_keys(destination_id, false);
  server_.keys = initial_keys(destination_id, true);
}

void QuicReader::take(Bytes datagram, bool from_server) {
  while (!datagram.empty() && (datagram[0] & 0x80) != 0 && take_packet(datagram, from_server)) {
  }
}

bool QuicReader::take_packet(Bytes& rest, bool from_server) {
  const Bytes packet = rest;
  if (packet.size() < 7) return false;
  const uint32_t version = load_be32(&packet[1]);
  Bytes in = packet.subspan(5);
  const auto id = [&in]() -> std::optional<Bytes> {
    if (in.empty() || in.size() < size_t{1} + in[0]) return std::nullopt;
    const Bytes taken = in.subspan(1, in[0]);
    in = in.subspan(size_t{1} + in[0]);
    return taken;
  };
  const auto destination = id();
  const auto source = id();
  if (!destination || !source) return false;
  if (version == 0) {  // Version Negotiation: a list of versions, no protection (RFC 9000 17.2.1)
    version_negotiation_ = from_server;
    for (; in.size() >= 4; in = in.subspan(4)) versions_.push_back(load_be32(in.data()));
    return false;
  }
  if (version != kVersion1) return false;
  const int type = packet[0] >> 4 & 3;
  if (type == 3) {  // Retry: its source ID makes the keys from here on (RFC 9001 5.2)
    retry_ = retry_ || from_server;
    set_keys(*source);
    return false;
  }
  uint64_t length = 0;
  if (type == 0) {
    if (!client_.keys && !from_server) set_keys(*destination);
    if (!quic::take_varint(in, length) || in.size() < length) return false;
    in = in.subspan(length);  // the token
  }
  if (!quic::take_varint(in, length) || in.size() < length) return false;
  const size_t number_offset = packet.size() - in.size();
  rest = in.subspan(length);
  if (type != 0) return true;

  Direction& direction = from_server ? server_ : client_;
  if (!direction.keys) return true;
  const auto opened = open_initial(packet.first(number_offset + length), number_offset,
                                   *direction.keys, direction.largest);
  if (!opened) {
    ++undecryptable_;
    return true;
  }
  ++direction.initials;
  direction.largest = std::max(direction.largest, opened->number);
  take_frames(opened->payload, direction, from_server);
  return true;
}

// Of the frames that an Initial packet may hold (RFC 9000 12.4): PADDING, PING, ACK, CRYPTO and
// CONNECTION_CLOSE.
void QuicReader::take_frames(Bytes in, Direction& direction, bool from_server) {
  while (!in.empty()) {
    uint64_t type = 0;
    if (!quic::take_varint(in, type)) return;
    if (type == 0x00) {
      ++direction.padding;
    } else if (type == 0x02 || type == 0x03) {  // ACK, with or without ECN counts
      uint64_t largest = 0;
      uint64_t delay = 0;
      uint64_t ranges = 0;
      uint64_t skipped = 0;
      if (!quic::take_varint(in, largest) || !quic::take_varint(in, delay) ||
          !quic::take_varint(in, ranges)) {
        return;
      }
      for (uint64_t left = 1 + 2 * ranges + (type == 0x03 ? 3 : 0); left > 0; --left) {
        if (!quic::take_varint(in, skipped)) return;
      }
    } else if (type == 0x06) {
      uint64_t offset = 0;
      uint64_t size = 0;
      if (!quic::take_varint(in, offset) || !quic::take_varint(in, size) || in.size() < size) {
        return;
      }
      take_crypto(direction, offset, in.first(size));
      in = in.subspan(size);
    } else if (type == 0x1c) {
      uint64_t error = 0;
      if (quic::take_varint(in, error) && from_server) close_error_ = error;
      return;
    } else if (type != 0x01) {
      return;
    }
  }
}

void QuicReader::take_crypto(Direction& direction, uint64_t offset, Bytes data) {
  auto& piece = direction.pieces[offset];
  if (piece.size() < data.size()) piece.assign(data.begin(), data.end());
  for (auto next = direction.pieces.begin();
       next != direction.pieces.end() && next->first <= direction.offset;
       next = direction.pieces.erase(next)) {
    const uint64_t known = direction.offset - next->first;
    if (known >= next->second.size()) continue;
    const Bytes fresh = Bytes(next->second).subspan(known);
    direction.reader.take(fresh);
    direction.offset += fresh.size();
  }
  while (auto message = direction.reader.next()) {
    direction.messages.push_back(std::move(*message));
  }
}

}  // namespace pqedge::measure::live
