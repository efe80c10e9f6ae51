// A strict, bounded reader of the ClientHello message (RFC 8446 4.1.2; older versions too). Nothing
// is copied or allocated: all views are into the message, in the order of the wire.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string_view>

#include "base/bytes.h"

namespace pqedge::crypto {

// Extension types that are read here (IANA, TLS ExtensionType Values).
namespace extension {
inline constexpr uint16_t kServerName = 0;            // RFC 6066 3
inline constexpr uint16_t kSupportedGroups = 10;      // RFC 8446 4.2.7
inline constexpr uint16_t kEcPointFormats = 11;       // RFC 8422 5.1.2
inline constexpr uint16_t kSignatureAlgorithms = 13;  // RFC 8446 4.2.3
inline constexpr uint16_t kAlpn = 16;                 // RFC 7301 3.1
inline constexpr uint16_t kPreSharedKey = 41;         // RFC 8446 4.2.11
inline constexpr uint16_t kEarlyData = 42;            // RFC 8446 4.2.10
inline constexpr uint16_t kSupportedVersions = 43;    // RFC 8446 4.2.1
inline constexpr uint16_t kSignatureAlgorithmsCert = 50;
inline constexpr uint16_t kKeyShare = 51;                 // RFC 8446 4.2.8
inline constexpr uint16_t kQuicTransportParameters = 57;  // RFC 9001 8.2
}  // namespace extension

// RFC 8701: values that stand for nothing, sent to keep servers tolerant.
constexpr bool is_grease(uint16_t value) {
  return (value & 0x0f0f) == 0x0a0a && (value >> 8) == (value & 0xff);
}

// A list of 16-bit values.
class U16List {
 public:
  U16List() = default;
  explicit U16List(Bytes bytes) : bytes_(bytes) {}  // an even number of bytes
  size_t size() const { return bytes_.size() / 2; }
  bool empty() const { return bytes_.empty(); }
  uint16_t operator[](size_t i) const { return load_be16(bytes_.data() + 2 * i); }
  bool contains(uint16_t value) const {
    for (size_t i = 0; i < size(); ++i) {
      if ((*this)[i] == value) return true;
    }
    return false;
  }

 private:
  Bytes bytes_;
};

// Walks entries of a checked list; Entry::take(rest) cuts the next one off.
template <typename Entry>
class WireRange {
 public:
  class Iterator {
   public:
    Iterator() = default;
    explicit Iterator(Bytes rest) : rest_(rest) { advance(); }
    const Entry& operator*() const { return entry_; }
    const Entry* operator->() const { return &entry_; }
    Iterator& operator++() {
      advance();
      return *this;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.left_ == b.left_; }

   private:
    void advance() {
      left_ = rest_.empty() ? 0 : rest_.size();
      if (left_ != 0) entry_ = Entry::take(rest_);
    }
    Bytes rest_;
    size_t left_ = 0;  // bytes from this entry to the end: unique, 0 at the end
    Entry entry_{};
  };

  WireRange() = default;
  explicit WireRange(Bytes bytes) : bytes_(bytes) {}
  Iterator begin() const { return Iterator(bytes_); }
  Iterator end() const { return Iterator(); }
  bool empty() const { return bytes_.empty(); }

 private:
  Bytes bytes_;
};

struct Extension {
  uint16_t type;
  Bytes body;
  static Extension take(Bytes& rest);
};
struct ProtocolName {
  std::string_view name;
  static ProtocolName take(Bytes& rest);
};
struct KeyShare {
  uint16_t group;
  Bytes key;
  static KeyShare take(Bytes& rest);
};

struct ClientHello {
  uint16_t legacy_version = 0;
  Bytes random;      // 32 bytes
  Bytes session_id;  // at most 32
  U16List cipher_suites;
  Bytes compression_methods;
  WireRange<Extension> extensions;
  size_t extension_count = 0;

  // From extensions; empty where the client sent none.
  std::string_view server_name;  // as sent, not judged: server_name.h
  WireRange<ProtocolName> alpn;
  U16List supported_versions;
  U16List supported_groups;
  U16List signature_algorithms;
  U16List signature_algorithms_cert;
  WireRange<KeyShare> key_shares;
  Bytes ec_point_formats;
  bool has_server_name = false;
  bool has_alpn = false;
  bool has_key_share = false;  // the list may be empty: the client asks for a HelloRetryRequest
  bool has_pre_shared_key = false;
  bool has_early_data = false;
  bool has_quic_parameters = false;
};

enum class HelloFault : uint8_t {
  not_client_hello,  // another message, or a length that is not the message's
  truncated,         // a length runs past its container
  trailing_bytes,
  bad_length,            // a vector longer or shorter than its definition, or not whole entries
  duplicate_extension,   // RFC 8446 4.2
  too_many_extensions,   // above kMaxExtensions
  psk_not_last,          // RFC 8446 4.2.11
  bad_server_name_list,  // RFC 6066 3: one host_name, not empty
};
std::string_view name(HelloFault fault);

// Real hellos have at most some 25. The bound keeps the search for duplicates cheap.
inline constexpr size_t kMaxExtensions = 128;

// `message`: the handshake message whole, with its 4-byte header.
std::expected<ClientHello, HelloFault> parse_client_hello(Bytes message);

// Whether a supported group contains ML-KEM.
bool offers_post_quantum(const ClientHello& hello);

}  // namespace pqedge::crypto
