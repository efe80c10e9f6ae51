// TLS 1.3 key shares (RFC 8446 4.2.8; the hybrids: RFC 10024).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "measure/wire/exchange_keys.h"

namespace pqedge::measure {

inline constexpr uint16_t kTlsSecp256r1 = 0x0017;
inline constexpr uint16_t kTlsX25519 = 0x001d;
inline constexpr uint16_t kTlsMlKem768 = 0x0201;
inline constexpr uint16_t kTlsSecP256r1MlKem768 = 0x11eb;
inline constexpr uint16_t kTlsX25519MlKem768 = 0x11ec;
inline constexpr uint16_t kTlsSecP384r1MlKem1024 = 0x11ed;

struct TlsShare {
  uint16_t group = 0;
  std::vector<uint8_t> key_exchange;
};

// X25519MLKEM768 puts ML-KEM first, the NIST hybrids put the curve first (RFC 10024).
TlsShare tls_client_share(uint16_t group, const ExchangeKeys& keys);
TlsShare tls_server_share(uint16_t group, const ExchangeKeys& keys);

// The extension with its type and length, in a ClientHello and in a ServerHello.
std::vector<uint8_t> tls_client_extension(std::span<const TlsShare> shares);
std::vector<uint8_t> tls_server_extension(const TlsShare& share);

// The handshake message: supported_versions and key_share are its only extensions. It echoes the
// client's session id: 32 bytes over TCP in compatibility mode (RFC 8446 D.4), none in QUIC
// (RFC 9001 8.4).
std::vector<uint8_t> tls_server_hello(const TlsShare& share, size_t session_id_length);

// `second` is a further share in the ClientHello, when the client offers two.
WireFigures tls_figures(uint16_t group, const ExchangeKeys& keys, const TlsShare* second = nullptr);

}  // namespace pqedge::measure
