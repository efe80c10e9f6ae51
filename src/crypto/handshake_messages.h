// TLS 1.3's messages as they are on the wire: read here by ourselves, so that what was negotiated
// is never a library's report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace pqedge::crypto {

// Handshake message types (RFC 8446 4, RFC 8879 4).
inline constexpr uint8_t kClientHello = 1;
inline constexpr uint8_t kServerHello = 2;
inline constexpr uint8_t kNewSessionTicket = 4;
inline constexpr uint8_t kEncryptedExtensions = 8;
inline constexpr uint8_t kCertificate = 11;
inline constexpr uint8_t kCertificateRequest = 13;
inline constexpr uint8_t kCertificateVerify = 15;
inline constexpr uint8_t kFinished = 20;
inline constexpr uint8_t kCompressedCertificate = 25;

// A ServerHello, or the HelloRetryRequest that has its form (RFC 8446 4.1.3, 4.1.4).
struct ServerHello {
  uint16_t version = 0;  // supported_versions' choice, else the legacy field
  uint16_t cipher = 0;
  bool retry = false;
  std::optional<uint16_t> group;  // key_share's
  size_t share = 0;               // bytes of the key in it; a retry has none
  size_t session_id = 0;
  bool pre_shared_key = false;
};
// `message`: whole, with its 4-byte header.
Result<ServerHello> parse_server_hello(Bytes message);

struct ClientHelloFacts {
  size_t size = 0;                                  // with the header
  std::vector<std::pair<uint16_t, size_t>> shares;  // group and key bytes, in order; no GREASE
  size_t padding = 0;                               // the padding extension's body (RFC 7685)
  std::vector<uint16_t> groups;                     // supported_groups, no GREASE
};
Result<ClientHelloFacts> read_client_hello(Bytes message);

struct CertificateFacts {
  size_t count = 0;
  size_t der = 0;   // bytes of the certificates alone
  size_t leaf = 0;  // of the first
};
// A Certificate message (RFC 8446 4.4.2).
Result<CertificateFacts> read_certificate(Bytes message);

// Cuts handshake messages out of a byte stream in order.
class MessageReader {
 public:
  void take(Bytes bytes) { buffer_.insert(buffer_.end(), bytes.begin(), bytes.end()); }
  // The next whole message, or nothing yet.
  std::optional<std::vector<uint8_t>> next();

 private:
  std::vector<uint8_t> buffer_;
};

// One direction of TLS over TCP: records, and the handshake messages that are in the clear, which
// are all up to the ServerHello.
class RecordReader {
 public:
  void take(Bytes bytes);

  const std::vector<std::vector<uint8_t>>& messages() const { return messages_; }
  size_t records() const { return records_; }
  size_t overhead() const { return records_ * 5; }
  // The first bytes are not a TLS record's.
  bool broken() const { return broken_; }
  // An alert in the clear.
  std::optional<uint8_t> alert() const { return alert_; }
  const std::string& first_bytes() const { return first_; }

 private:
  void take_record(uint8_t type, Bytes body);

  std::vector<uint8_t> buffer_;
  MessageReader reader_;
  std::vector<std::vector<uint8_t>> messages_;
  std::string first_;  // at most 32 bytes, for the message about what is no TLS
  size_t records_ = 0;
  bool clear_ = true;
  bool broken_ = false;
  std::optional<uint8_t> alert_;
};

}  // namespace pqedge::crypto
