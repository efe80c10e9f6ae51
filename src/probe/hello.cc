#include "probe/hello.h"

#include <openssl/rand.h>

#include <algorithm>

#include "crypto/client_hello.h"

namespace pqedge::probe {
namespace {

namespace extension = crypto::extension;

constexpr uint16_t kGrease = 0x4a4a;
constexpr uint16_t kExtensionStatusRequest = 5;  // RFC 6066 8
constexpr uint16_t kPadding = 21;                // RFC 7685
constexpr uint16_t kExtendedMasterSecret = 23;   // RFC 7627
constexpr uint16_t kPskModes = 45;               // RFC 8446 4.2.9
constexpr uint16_t kRenegotiationInfo = 0xff01;  // RFC 5746
constexpr size_t kMaxRecord = 1 << 14;

// Everything that a server may sign with, old and new: the probe's own list must never be why a
// handshake fails.
constexpr uint16_t kSchemes[] = {0x0904, 0x0905, 0x0906, 0x0403, 0x0503, 0x0603, 0x0807,
                                 0x0808, 0x0804, 0x0805, 0x0806, 0x0809, 0x080a, 0x080b,
                                 0x0401, 0x0501, 0x0601, 0x0201, 0x0203};

class Writer {
 public:
  void u8(uint8_t v) { out.push_back(v); }
  void u16(uint16_t v) {
    u8(static_cast<uint8_t>(v >> 8));
    u8(static_cast<uint8_t>(v));
  }
  void bytes(Bytes b) { out.insert(out.end(), b.begin(), b.end()); }
  void random(size_t n) {
    const size_t at = out.size();
    out.resize(at + n);
    RAND_bytes(out.data() + at, static_cast<int>(n));
  }
  // Opens a vector whose length takes `size` bytes; close() fills the length in.
  size_t open(size_t size) {
    out.resize(out.size() + size);
    return out.size();
  }
  void close(size_t begin, size_t size) {
    size_t length = out.size() - begin;
    for (size_t i = 1; i <= size; ++i, length >>= 8) {
      out[begin - i] = static_cast<uint8_t>(length);
    }
  }
  std::vector<uint8_t> out;
};

void write_list(Writer& w, const std::vector<uint16_t>& values, size_t length_size, bool grease) {
  const size_t list = w.open(length_size);
  if (grease) w.u16(kGrease);
  for (const uint16_t value : values) w.u16(value);
  w.close(list, length_size);
}

template <typename Body>
void write_extension(Writer& w, uint16_t type, Body&& body) {
  w.u16(type);
  const size_t begin = w.open(2);
  body();
  w.close(begin, 2);
}

void write_server_name(Writer& w, const std::string& name) {
  write_extension(w, extension::kServerName, [&] {
    const size_t list = w.open(2);
    w.u8(0);  // host_name
    const size_t host = w.open(2);
    w.bytes(as_bytes(name));
    w.close(host, 2);
    w.close(list, 2);
  });
}

void write_alpn(Writer& w, const std::vector<std::string>& names) {
  write_extension(w, extension::kAlpn, [&] {
    const size_t list = w.open(2);
    for (const std::string& name : names) {
      w.u8(static_cast<uint8_t>(name.size()));
      w.bytes(as_bytes(name));
    }
    w.close(list, 2);
  });
}

void write_tls13(Writer& w, const HelloShape& shape) {
  write_extension(w, extension::kSupportedVersions,
                  [&] { write_list(w, shape.versions, 1, shape.grease); });
  if (!std::ranges::contains(shape.versions, kTls13)) return;
  write_extension(w, kPskModes, [&] {
    w.u8(1);
    w.u8(1);  // psk_dhe_ke
  });
  write_extension(w, extension::kKeyShare, [&] {
    const size_t list = w.open(2);
    if (shape.grease) {
      w.u16(kGrease);
      w.u16(1);
      w.u8(0);
    }
    w.close(list, 2);
  });
}

void write_extensions(Writer& w, const HelloShape& shape) {
  if (shape.grease) write_extension(w, kGrease, [] {});
  if (!shape.server_name.empty()) write_server_name(w, shape.server_name);
  write_extension(w, kExtendedMasterSecret, [] {});
  write_extension(w, kRenegotiationInfo, [&] { w.u8(0); });
  write_extension(w, extension::kSupportedGroups,
                  [&] { write_list(w, shape.groups, 2, shape.grease); });
  write_extension(w, extension::kEcPointFormats, [&] {
    w.u8(1);
    w.u8(0);  // uncompressed
  });
  write_extension(w, kExtensionStatusRequest, [&] {
    w.u8(1);  // ocsp, without responder IDs or extensions
    w.u16(0);
    w.u16(0);
  });
  write_extension(w, extension::kSignatureAlgorithms, [&] {
    write_list(w, {std::begin(kSchemes), std::end(kSchemes)}, 2, shape.grease);
  });
  if (!shape.alpn.empty()) write_alpn(w, shape.alpn);
  if (!shape.versions.empty()) write_tls13(w, shape);
  if (w.out.size() + 4 < shape.pad_to) {
    const size_t padding = shape.pad_to - w.out.size() - 4;
    write_extension(w, kPadding, [&] { w.out.resize(w.out.size() + padding); });
  }
}

}  // namespace

std::vector<uint8_t> make_client_hello(const HelloShape& shape) {
  Writer w;
  w.u8(1);  // client_hello
  const size_t message = w.open(3);
  w.u16(shape.legacy_version);
  w.random(32);
  w.u8(32);
  w.random(32);
  write_list(w, shape.ciphers, 2, shape.grease);
  w.u8(1);
  w.u8(0);  // no compression
  if (shape.legacy_version != kSsl3) {
    const size_t extensions = w.open(2);
    write_extensions(w, shape);
    w.close(extensions, 2);
  }
  w.close(message, 3);
  return std::move(w.out);
}

std::vector<uint8_t> in_records(Bytes message, size_t fragment) {
  Writer w;
  while (!message.empty()) {
    const Bytes piece = message.first(std::min({message.size(), fragment, kMaxRecord}));
    w.u8(22);       // handshake
    w.u16(kTls10);  // what a first hello's record carries (RFC 8446 5.1)
    w.u16(static_cast<uint16_t>(piece.size()));
    w.bytes(piece);
    message = message.subspan(piece.size());
  }
  return std::move(w.out);
}

}  // namespace pqedge::probe
