// The Certificate message of TLS 1.3 (RFC 8446 4.4.2), encoded here, and its compressed form
// (RFC 8879): what a handshake sends can be held against both.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace pqedge::measure {

inline constexpr size_t kHandshakeHeader = 4;  // type and length (RFC 8446 4)

struct CertificateParts {
  std::vector<std::vector<uint8_t>> certificates;  // DER, the leaf first
  std::vector<uint8_t> sct_list;                   // for the leaf's extension; empty: none
  std::vector<uint8_t> staple;                     // DER; empty: none
};

// With its handshake header; the request context is empty, as in a server's.
std::vector<uint8_t> encode_certificate_message(const CertificateParts& parts);

enum class CertificateCompression : uint8_t { zlib = 1, brotli = 2, zstd = 3 };  // RFC 8879 7.3
inline constexpr CertificateCompression kCertificateCompressions[] = {
    CertificateCompression::zlib, CertificateCompression::brotli, CertificateCompression::zstd};
std::string_view compression_name(CertificateCompression algorithm);

// The CompressedCertificate message, header included, for a message as above. Each library's own
// default level is used, as OpenSSL does.
Result<std::vector<uint8_t>> compress_certificate_message(Bytes message,
                                                          CertificateCompression algorithm);

}  // namespace pqedge::measure
