// Certificate compression (RFC 8879): the certificate message compressed once and kept, in the
// forms that clients ask for.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "crypto/client_hello.h"

namespace pqedge::crypto {

struct Certificate;

// IANA, TLS Certificate Compression Algorithm IDs.
enum class CertificateEncoding : uint8_t { zlib = 1, brotli = 2, zstd = 3 };

std::optional<CertificateEncoding> find_certificate_encoding(std::string_view name);
std::string_view name(CertificateEncoding encoding);
// Whether the TLS library sends certificates in it.
bool library_sends(CertificateEncoding encoding);

// Those that a client takes, (1 << code) each. A malformed extension: none; OpenSSL refuses it.
uint8_t offered_certificate_encodings(const ClientHello& hello);

// What the client asked for beside the certificate, and there is.
struct MessageParts {
  bool ocsp_response = false;
  bool timestamps = false;
};

// The body of the Certificate message of TLS 1.3 (RFC 8446 4.4.2), as a server sends it.
std::string certificate_message(const Certificate& certificate, MessageParts parts);
// Empty: it failed.
std::string compress(CertificateEncoding encoding, std::string_view message);

// The compressed messages of one certificate. Made when a client first asks for one, on its worker
// (under a millisecond for a usual chain), and kept.
class CompressedMessages {
 public:
  struct Message {
    std::string bytes;  // empty: compression does not make it smaller
    size_t plain_size = 0;
  };
  CompressedMessages() = default;
  ~CompressedMessages();
  CompressedMessages(const CompressedMessages&) = delete;
  CompressedMessages& operator=(const CompressedMessages&) = delete;

  // `certificate` is the one that these belong to. From any thread.
  const Message& get(const Certificate& certificate, CertificateEncoding encoding,
                     MessageParts parts);

 private:
  static constexpr size_t kParts = 4;
  static constexpr size_t kEncodings = 3;
  std::mutex making_;
  std::array<std::atomic<const Message*>, kParts * kEncodings> made_{};
};

// While one lives on a thread, OpenSSL takes brotli for known there: see brotli_offer.cc.
class BrotliKnown {
 public:
  BrotliKnown();
  ~BrotliKnown();
  BrotliKnown(const BrotliKnown&) = delete;
  BrotliKnown& operator=(const BrotliKnown&) = delete;

  // The same without a scope, for what begins in one callback and ends in another.
  static void set(bool known);
};

}  // namespace pqedge::crypto
