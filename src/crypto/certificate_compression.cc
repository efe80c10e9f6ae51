#include "crypto/certificate_compression.h"

#include <brotli/encode.h>
#include <zlib.h>
#include <zstd.h>

#include "crypto/certificates_internal.h"

namespace pqedge::crypto {
namespace {

struct Named {
  std::string_view name;
  CertificateEncoding encoding;
};
constexpr Named kEncodings[] = {{"zlib", CertificateEncoding::zlib},
                                {"brotli", CertificateEncoding::brotli},
                                {"zstd", CertificateEncoding::zstd}};

// The levels at which a chain takes well under a millisecond; brotli's slowest two take 3 ms and
// save one percent more. With a window above 16 bits brotli sets up tables of megabytes: 30 ms.
constexpr int kBrotliQuality = 9;
constexpr int kBrotliWindow = 16;
constexpr int kZstdLevel = 19;

// CompressedCertificate has algorithm, length and length of what follows (RFC 8879 4).
constexpr size_t kHeader = 2 + 3 + 3;

void put(std::string& out, size_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

void put_extension(std::string& out, uint16_t type, std::string_view body) {
  put(out, type, 2);
  put(out, body.size(), 2);
  out += body;
}

// CertificateStatus (RFC 6066 8): the type, and the response with its length.
std::string status_body(std::string_view response) {
  std::string body;
  put(body, TLSEXT_STATUSTYPE_ocsp, 1);
  put(body, response.size(), 3);
  body += response;
  return body;
}

void put_entry(std::string& out, X509* certificate, std::string_view extensions) {
  unsigned char* der = nullptr;
  const int size = i2d_X509(certificate, &der);
  if (size <= 0) return;
  put(out, static_cast<size_t>(size), 3);
  out.append(reinterpret_cast<const char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  put(out, extensions.size(), 2);
  out += extensions;
}

std::string with_zlib(std::string_view in) {
  std::string out(compressBound(in.size()), '\0');
  uLongf size = out.size();
  if (compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                reinterpret_cast<const Bytef*>(in.data()), in.size(), Z_BEST_COMPRESSION) != Z_OK) {
    return {};
  }
  out.resize(size);
  return out;
}

std::string with_brotli(std::string_view in) {
  std::string out(BrotliEncoderMaxCompressedSize(in.size()), '\0');
  size_t size = out.size();
  if (BrotliEncoderCompress(kBrotliQuality, kBrotliWindow, BROTLI_MODE_GENERIC, in.size(),
                            reinterpret_cast<const uint8_t*>(in.data()), &size,
                            reinterpret_cast<uint8_t*>(out.data())) != BROTLI_TRUE) {
    return {};
  }
  out.resize(size);
  return out;
}

std::string with_zstd(std::string_view in) {
  std::string out(ZSTD_compressBound(in.size()), '\0');
  const size_t size = ZSTD_compress(out.data(), out.size(), in.data(), in.size(), kZstdLevel);
  if (ZSTD_isError(size) != 0) return {};
  out.resize(size);
  return out;
}

}  // namespace

std::optional<CertificateEncoding> find_certificate_encoding(std::string_view wanted) {
  for (const Named& known : kEncodings) {
    if (known.name == wanted) return known.encoding;
  }
  return std::nullopt;
}

std::string_view name(CertificateEncoding encoding) {
  return kEncodings[static_cast<size_t>(encoding) - 1].name;
}

bool library_sends(CertificateEncoding encoding) {
  const SslCtxPtr probe(SSL_CTX_new(TLS_server_method()));
  const BrotliKnown known;
  int code = static_cast<int>(encoding);
  return probe != nullptr && SSL_CTX_set1_cert_comp_preference(probe.get(), &code, 1) == 1;
}

uint8_t offered_certificate_encodings(const ClientHello& hello) {
  for (const Extension& e : hello.extensions) {
    if (e.type != TLSEXT_TYPE_compress_certificate) continue;
    // CertificateCompressionAlgorithms (RFC 8879 3): a byte of length, two bytes an algorithm.
    if (e.body.empty() || e.body[0] != e.body.size() - 1 || e.body[0] % 2 != 0) return 0;
    uint8_t offered = 0;
    const U16List codes(e.body.subspan(1));
    for (size_t i = 0; i < codes.size(); ++i) {
      if (codes[i] >= 1 && codes[i] <= 3) offered |= static_cast<uint8_t>(1 << codes[i]);
    }
    return offered;
  }
  return 0;
}

std::string certificate_message(const Certificate& certificate, MessageParts parts) {
  std::string extensions;
  if (parts.ocsp_response) {
    put_extension(extensions, TLSEXT_TYPE_status_request, status_body(certificate.ocsp_response));
  }
  if (parts.timestamps) {
    put_extension(extensions, TLSEXT_TYPE_signed_certificate_timestamp,
                  certificate.signed_timestamps);
  }
  std::string entries;
  put_entry(entries, certificate.leaf.get(), extensions);
  for (int i = 0; i < sk_X509_num(certificate.chain.get()); ++i) {
    put_entry(entries, sk_X509_value(certificate.chain.get(), i), {});
  }
  std::string message;
  put(message, 0, 1);  // certificate_request_context
  put(message, entries.size(), 3);
  return message + entries;
}

std::string compress(CertificateEncoding encoding, std::string_view message) {
  switch (encoding) {
    case CertificateEncoding::zlib: return with_zlib(message);
    case CertificateEncoding::brotli: return with_brotli(message);
    case CertificateEncoding::zstd: return with_zstd(message);
  }
  return {};
}

CompressedMessages::~CompressedMessages() {
  for (auto& slot : made_) delete slot.load(std::memory_order_relaxed);
}

const CompressedMessages::Message& CompressedMessages::get(const Certificate& certificate,
                                                           CertificateEncoding encoding,
                                                           MessageParts parts) {
  const size_t part = (parts.ocsp_response ? 1u : 0u) + (parts.timestamps ? 2u : 0u);
  auto& slot = made_[(static_cast<size_t>(encoding) - 1) * kParts + part];
  if (const Message* made = slot.load(std::memory_order_acquire)) return *made;
  const std::lock_guard lock(making_);
  if (const Message* made = slot.load(std::memory_order_acquire)) return *made;
  const std::string plain = certificate_message(certificate, parts);
  auto message = std::make_unique<Message>();
  message->plain_size = plain.size();
  message->bytes = compress(encoding, plain);
  if (message->bytes.size() + kHeader >= plain.size()) message->bytes.clear();
  message->bytes.shrink_to_fit();
  slot.store(message.get(), std::memory_order_release);
  return *message.release();
}

std::shared_ptr<CompressedMessages> new_compressed_messages() {
  return std::make_shared<CompressedMessages>();
}

}  // namespace pqedge::crypto
