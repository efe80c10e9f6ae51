#include "measure/live/ssh_wire.h"

#include <algorithm>

#include "base/text.h"

namespace pqedge::measure::live {

namespace {

// What OpenSSH speaks; the first is preferred. Nothing is ever sent under these ciphers: the
// connection ends at NEWKEYS.
constexpr std::string_view kHostKeys =
    "ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,rsa-sha2-512,"
    "rsa-sha2-256";
constexpr std::string_view kCiphers =
    "chacha20-poly1305@openssh.com,aes256-gcm@openssh.com,aes128-gcm@openssh.com,aes256-ctr,"
    "aes128-ctr";
constexpr std::string_view kMacs = "hmac-sha2-256-etm@openssh.com,hmac-sha2-256,hmac-sha2-512";

std::vector<std::string> names(Bytes list) {
  std::vector<std::string> out;
  for_each_member(as_text(list), [&](std::string_view name) { out.emplace_back(name); });
  return out;
}

}  // namespace

SshWriter& SshWriter::byte(uint8_t value) {
  bytes_.push_back(value);
  return *this;
}

SshWriter& SshWriter::number(uint32_t value) {
  uint8_t out[4];
  store_be32(out, value);
  bytes_.insert(bytes_.end(), out, out + 4);
  return *this;
}

SshWriter& SshWriter::string(Bytes value) {
  number(static_cast<uint32_t>(value.size()));
  bytes_.insert(bytes_.end(), value.begin(), value.end());
  return *this;
}

SshWriter& SshWriter::mpint(Bytes magnitude) {
  while (!magnitude.empty() && magnitude[0] == 0) magnitude = magnitude.subspan(1);
  const bool sign = !magnitude.empty() && (magnitude[0] & 0x80) != 0;
  number(static_cast<uint32_t>(magnitude.size() + (sign ? 1 : 0)));
  if (sign) bytes_.push_back(0);
  bytes_.insert(bytes_.end(), magnitude.begin(), magnitude.end());
  return *this;
}

Bytes SshReader::take(size_t count) {
  if (rest_.size() < count) {
    good_ = false;
    rest_ = {};
    return {};
  }
  const Bytes taken = rest_.first(count);
  rest_ = rest_.subspan(count);
  return taken;
}

uint8_t SshReader::byte() {
  const Bytes taken = take(1);
  return taken.empty() ? uint8_t{0} : taken[0];
}

uint32_t SshReader::number() {
  const Bytes taken = take(4);
  return taken.empty() ? 0 : load_be32(taken.data());
}

Bytes SshReader::string() { return take(number()); }

std::vector<uint8_t> ssh_packet(Bytes payload) {
  size_t padding = 8 - (5 + payload.size()) % 8;
  if (padding < 4) padding += 8;
  std::vector<uint8_t> packet(5);
  store_be32(packet.data(), static_cast<uint32_t>(1 + payload.size() + padding));
  packet[4] = static_cast<uint8_t>(padding);
  packet.insert(packet.end(), payload.begin(), payload.end());
  packet.resize(packet.size() + padding);
  return packet;
}

Result<KexInit> parse_kexinit(Bytes payload) {
  SshReader in(payload);
  if (in.byte() != kSshKexInit) return fail("not a KEXINIT");
  in.take(16);  // cookie
  KexInit init;
  init.methods = names(in.string());
  init.host_keys = names(in.string());
  for (int i = 0; i < 8; ++i) in.string();
  init.guess_follows = in.byte() != 0;
  if (!in.good()) return fail("the KEXINIT is cut short");
  return init;
}

std::vector<uint8_t> make_kexinit(std::string_view methods, Bytes cookie) {
  SshWriter out;
  out.byte(kSshKexInit);
  for (const uint8_t byte : cookie) out.byte(byte);
  out.string(methods).string(kHostKeys);
  out.string(kCiphers).string(kCiphers).string(kMacs).string(kMacs);
  out.string("none").string("none").string("").string("");
  out.byte(0).number(0);
  return out.bytes();
}

Result<ExchangeReply> parse_reply(Bytes payload) {
  SshReader in(payload);
  if (in.byte() != kSshExchangeReply) return fail("not a key exchange reply");
  ExchangeReply reply;
  reply.host_key = in.string();
  reply.share = in.string();
  reply.signature = in.string();
  SshReader key(reply.host_key);
  reply.host_key_algorithm = as_text(key.string());
  SshReader signature(reply.signature);
  reply.signature_algorithm = as_text(signature.string());
  if (!in.good() || !key.good() || !signature.good()) return fail("the reply is cut short");
  return reply;
}

std::string first_common(std::string_view ours, const std::vector<std::string>& theirs) {
  std::string found;
  for_each_member(ours, [&](std::string_view name) {
    if (found.empty() && std::ranges::contains(theirs, name)) found = name;
  });
  return found;
}

}  // namespace pqedge::measure::live
