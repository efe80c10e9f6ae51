#include "measure/chain/certificate_message.h"

#include <brotli/encode.h>
#include <zlib.h>
#include <zstd.h>

namespace pqedge::measure {
namespace {

constexpr uint8_t kCertificate = 11;
constexpr uint8_t kCompressedCertificate = 25;
constexpr uint16_t kStatusRequest = 5;
constexpr uint16_t kSignedCertificateTimestamp = 18;
constexpr uint8_t kOcsp = 1;

void append_number(std::vector<uint8_t>& out, size_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    out.push_back(static_cast<uint8_t>(value >> shift));
  }
}

void append(std::vector<uint8_t>& out, const std::vector<uint8_t>& bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

std::vector<uint8_t> leaf_extensions(const CertificateParts& parts) {
  std::vector<uint8_t> out;
  if (!parts.staple.empty()) {
    append_number(out, kStatusRequest, 2);
    append_number(out, 1 + 3 + parts.staple.size(), 2);
    out.push_back(kOcsp);
    append_number(out, parts.staple.size(), 3);
    append(out, parts.staple);
  }
  if (!parts.sct_list.empty()) {
    append_number(out, kSignedCertificateTimestamp, 2);
    append_number(out, parts.sct_list.size(), 2);
    append(out, parts.sct_list);
  }
  return out;
}

std::vector<uint8_t> with_header(uint8_t type, const std::vector<uint8_t>& body) {
  std::vector<uint8_t> out;
  out.reserve(kHandshakeHeader + body.size());
  out.push_back(type);
  append_number(out, body.size(), 3);
  append(out, body);
  return out;
}

Result<std::vector<uint8_t>> deflate(Bytes body) {
  std::vector<uint8_t> out(compressBound(body.size()));
  uLongf size = out.size();
  if (compress(out.data(), &size, body.data(), body.size()) != Z_OK) return fail("zlib failed");
  out.resize(size);
  return out;
}

Result<std::vector<uint8_t>> brotli(Bytes body) {
  size_t size = BrotliEncoderMaxCompressedSize(body.size());
  std::vector<uint8_t> out(size);
  if (BrotliEncoderCompress(BROTLI_DEFAULT_QUALITY, BROTLI_DEFAULT_WINDOW, BROTLI_DEFAULT_MODE,
                            body.size(), body.data(), &size, out.data()) != BROTLI_TRUE) {
    return fail("brotli failed");
  }
  out.resize(size);
  return out;
}

Result<std::vector<uint8_t>> zstd(Bytes body) {
  std::vector<uint8_t> out(ZSTD_compressBound(body.size()));
  const size_t size =
      ZSTD_compress(out.data(), out.size(), body.data(), body.size(), ZSTD_CLEVEL_DEFAULT);
  if (ZSTD_isError(size) != 0) return fail("zstd: {}", ZSTD_getErrorName(size));
  out.resize(size);
  return out;
}

}  // namespace

std::vector<uint8_t> encode_certificate_message(const CertificateParts& parts) {
  std::vector<uint8_t> entries;
  bool leaf = true;
  for (const std::vector<uint8_t>& der : parts.certificates) {
    append_number(entries, der.size(), 3);
    append(entries, der);
    const std::vector<uint8_t> extensions = leaf ? leaf_extensions(parts) : std::vector<uint8_t>();
    append_number(entries, extensions.size(), 2);
    append(entries, extensions);
    leaf = false;
  }
  std::vector<uint8_t> body;
  body.push_back(0);  // certificate_request_context
  append_number(body, entries.size(), 3);
  append(body, entries);
  return with_header(kCertificate, body);
}

std::string_view compression_name(CertificateCompression algorithm) {
  switch (algorithm) {
    case CertificateCompression::zlib: return "zlib";
    case CertificateCompression::brotli: return "brotli";
    case CertificateCompression::zstd: return "zstd";
  }
  return {};
}

Result<std::vector<uint8_t>> compress_certificate_message(Bytes message,
                                                          CertificateCompression algorithm) {
  if (message.size() < kHandshakeHeader) return fail("a Certificate message has a header");
  const Bytes body = message.subspan(kHandshakeHeader);
  const auto packed = algorithm == CertificateCompression::zlib     ? deflate(body)
                      : algorithm == CertificateCompression::brotli ? brotli(body)
                                                                    : zstd(body);
  if (!packed) return std::unexpected(packed.error());
  std::vector<uint8_t> out;  // RFC 8879 4
  append_number(out, static_cast<size_t>(algorithm), 2);
  append_number(out, body.size(), 3);
  append_number(out, packed->size(), 3);
  append(out, *packed);
  return with_header(kCompressedCertificate, out);
}

}  // namespace pqedge::measure
