// SSH's packets up to NEWKEYS, which are in the clear (RFC 4253).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace pqedge::measure::live {

inline constexpr uint8_t kSshDisconnect = 1;
inline constexpr uint8_t kSshIgnore = 2;
inline constexpr uint8_t kSshDebug = 4;
inline constexpr uint8_t kSshKexInit = 20;
inline constexpr uint8_t kSshNewKeys = 21;
inline constexpr uint8_t kSshExchangeInit = 30;  // RFC 5656 7.1, RFC 10042
inline constexpr uint8_t kSshExchangeReply = 31;

// Builds payloads: byte, string and name-list of RFC 4251 5.
class SshWriter {
 public:
  SshWriter& byte(uint8_t value);
  SshWriter& number(uint32_t value);
  SshWriter& string(Bytes value);
  SshWriter& string(std::string_view value) { return string(as_bytes(value)); }
  SshWriter& mpint(Bytes magnitude);
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

// Reads them; good() turns false when something is cut short.
class SshReader {
 public:
  explicit SshReader(Bytes bytes) : rest_(bytes) {}
  uint8_t byte();
  uint32_t number();
  Bytes string();
  Bytes take(size_t count);
  bool good() const { return good_; }

 private:
  Bytes rest_;
  bool good_ = true;
};

// A whole unencrypted packet (RFC 4253 6): block size 8, at least 4 bytes of padding.
std::vector<uint8_t> ssh_packet(Bytes payload);

struct KexInit {  // of the server's lists, those that decide here
  std::vector<std::string> methods;
  std::vector<std::string> host_keys;
  bool guess_follows = false;
};
Result<KexInit> parse_kexinit(Bytes payload);
std::vector<uint8_t> make_kexinit(std::string_view methods, Bytes cookie);

struct ExchangeReply {  // SSH_MSG_KEX_ECDH_REPLY; RFC 10042's has the same form
  Bytes host_key;
  Bytes share;
  Bytes signature;
  std::string host_key_algorithm;
  std::string signature_algorithm;
};
Result<ExchangeReply> parse_reply(Bytes payload);

// The first of ours that is among theirs (RFC 4253 7.1), or empty.
std::string first_common(std::string_view ours, const std::vector<std::string>& theirs);

}  // namespace pqedge::measure::live
