#include "crypto/client_hello.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "crypto/groups.h"

namespace pqedge::crypto {
namespace {

constexpr uint8_t kClientHelloType = 1;
constexpr uint8_t kHostName = 0;

using Fault = HelloFault;
using Step = std::expected<void, Fault>;

// Cuts bytes off the front. The first fault sticks; later calls return nothing.
class Reader {
 public:
  explicit Reader(Bytes rest) : rest_(rest) {}
  bool empty() const { return rest_.empty(); }

  Bytes take(size_t n) {
    if (rest_.size() < n) return fail(Fault::truncated);
    const Bytes taken = rest_.first(n);
    rest_ = rest_.subspan(n);
    return taken;
  }
  uint8_t u8() {
    const Bytes b = take(1);
    return b.empty() ? uint8_t{0} : b[0];
  }
  uint16_t u16() {
    const Bytes b = take(2);
    return b.empty() ? uint16_t{0} : load_be16(b.data());
  }
  // A vector with a length of one or two bytes, `least`..`most` long, of entries of `unit` bytes.
  Bytes vector8(size_t least, size_t most, size_t unit = 1) {
    return sized(u8(), least, most, unit);
  }
  Bytes vector16(size_t least, size_t most, size_t unit = 1) {
    return sized(u16(), least, most, unit);
  }

  bool ok() const { return !fault_; }
  // After the last field: nothing may be left.
  Step finish() const {
    if (fault_) return std::unexpected(*fault_);
    if (!rest_.empty()) return std::unexpected(Fault::trailing_bytes);
    return {};
  }
  Fault fault() const { return *fault_; }

 private:
  Bytes sized(size_t n, size_t least, size_t most, size_t unit) {
    if (n < least || n > most || n % unit != 0) return fail(Fault::bad_length);
    return take(n);
  }
  Bytes fail(Fault fault) {
    if (!fault_) fault_ = fault;
    rest_ = {};
    return {};
  }

  Bytes rest_;
  std::optional<Fault> fault_;
};

constexpr size_t kU8Max = 255;
constexpr size_t kU16Max = 65535;

Step read_server_name(Bytes body, ClientHello& hello) {
  hello.has_server_name = true;
  Reader r(body);
  const Bytes list = r.vector16(1, kU16Max);
  if (Step done = r.finish(); !done) return done;
  Reader entry(list);
  const uint8_t type = entry.u8();
  const Bytes host = entry.vector16(1, kU16Max);
  // One name of each type at most, and host_name is the only type there is.
  if (!entry.finish() || type != kHostName) return std::unexpected(Fault::bad_server_name_list);
  hello.server_name = as_text(host);
  return {};
}

Step read_alpn(Bytes body, ClientHello& hello) {
  hello.has_alpn = true;
  Reader r(body);
  const Bytes list = r.vector16(2, kU16Max);
  if (Step done = r.finish(); !done) return done;
  Reader names(list);
  while (names.ok() && !names.empty()) names.vector8(1, kU8Max);
  if (Step done = names.finish(); !done) return done;
  hello.alpn = WireRange<ProtocolName>(list);
  return {};
}

Step read_key_shares(Bytes body, ClientHello& hello) {
  hello.has_key_share = true;
  Reader r(body);
  const Bytes list = r.vector16(0, kU16Max);
  if (Step done = r.finish(); !done) return done;
  Reader shares(list);
  while (shares.ok() && !shares.empty()) {
    shares.u16();
    shares.vector16(1, kU16Max);
  }
  if (Step done = shares.finish(); !done) return done;
  hello.key_shares = WireRange<KeyShare>(list);
  return {};
}

Step read_list16(Bytes body, U16List& into) {
  Reader r(body);
  into = U16List(r.vector16(2, kU16Max - 1, 2));
  return r.finish();
}

Step read_versions(Bytes body, U16List& into) {
  Reader r(body);
  into = U16List(r.vector8(2, 254, 2));
  return r.finish();
}

Step read_point_formats(Bytes body, Bytes& into) {
  Reader r(body);
  into = r.vector8(1, kU8Max);
  return r.finish();
}

Step read_extension(const Extension& e, ClientHello& hello) {
  switch (e.type) {
    case extension::kServerName: return read_server_name(e.body, hello);
    case extension::kAlpn: return read_alpn(e.body, hello);
    case extension::kKeyShare: return read_key_shares(e.body, hello);
    case extension::kSupportedGroups: return read_list16(e.body, hello.supported_groups);
    case extension::kSignatureAlgorithms: return read_list16(e.body, hello.signature_algorithms);
    case extension::kSignatureAlgorithmsCert:
      return read_list16(e.body, hello.signature_algorithms_cert);
    case extension::kSupportedVersions: return read_versions(e.body, hello.supported_versions);
    case extension::kEcPointFormats: return read_point_formats(e.body, hello.ec_point_formats);
    case extension::kPreSharedKey: hello.has_pre_shared_key = true; return {};
    case extension::kEarlyData:
      hello.has_early_data = true;
      return e.body.empty() ? Step{} : std::unexpected(Fault::trailing_bytes);
    case extension::kQuicTransportParameters: hello.has_quic_parameters = true; return {};
    default: return {};
  }
}

Step read_extensions(Bytes block, ClientHello& hello) {
  std::array<uint16_t, kMaxExtensions> seen;
  size_t count = 0;
  Reader r(block);
  while (!r.empty()) {
    if (hello.has_pre_shared_key) return std::unexpected(Fault::psk_not_last);
    const uint16_t type = r.u16();
    const Bytes body = r.vector16(0, kU16Max);
    if (!r.ok()) return std::unexpected(r.fault());
    if (count == kMaxExtensions) return std::unexpected(Fault::too_many_extensions);
    const std::span<const uint16_t> earlier(seen.data(), count);
    if (std::ranges::contains(earlier, type)) return std::unexpected(Fault::duplicate_extension);
    seen[count++] = type;
    if (Step done = read_extension({type, body}, hello); !done) return done;
  }
  if (!r.ok()) return std::unexpected(r.fault());
  hello.extensions = WireRange<Extension>(block);
  hello.extension_count = count;
  return {};
}

}  // namespace

Extension Extension::take(Bytes& rest) {
  const size_t n = load_be16(rest.data() + 2);
  const Extension e{load_be16(rest.data()), rest.subspan(4, n)};
  rest = rest.subspan(4 + n);
  return e;
}

ProtocolName ProtocolName::take(Bytes& rest) {
  const ProtocolName p{as_text(rest.subspan(1, rest[0]))};
  rest = rest.subspan(1 + size_t{rest[0]});
  return p;
}

KeyShare KeyShare::take(Bytes& rest) {
  const size_t n = load_be16(rest.data() + 2);
  const KeyShare s{load_be16(rest.data()), rest.subspan(4, n)};
  rest = rest.subspan(4 + n);
  return s;
}

std::string_view name(HelloFault fault) {
  switch (fault) {
    case Fault::not_client_hello: return "not a ClientHello of that length";
    case Fault::truncated: return "a field runs past the end";
    case Fault::trailing_bytes: return "bytes after the last field";
    case Fault::bad_length: return "a field of a length that its definition forbids";
    case Fault::duplicate_extension: return "an extension comes twice";
    case Fault::too_many_extensions: return "too many extensions";
    case Fault::psk_not_last: return "pre_shared_key is not the last extension";
    case Fault::bad_server_name_list: return "the server_name list is not one host name";
  }
  return "unknown fault";
}

std::expected<ClientHello, HelloFault> parse_client_hello(Bytes message) {
  if (message.size() < 4 || message[0] != kClientHelloType ||
      load_be24(message.data() + 1) != message.size() - 4) {
    return std::unexpected(Fault::not_client_hello);
  }
  ClientHello hello;
  Reader r(message.subspan(4));
  hello.legacy_version = r.u16();
  hello.random = r.take(32);
  hello.session_id = r.vector8(0, 32);
  hello.cipher_suites = U16List(r.vector16(2, kU16Max - 1, 2));
  hello.compression_methods = r.vector8(1, kU8Max);
  if (r.ok() && r.empty()) return hello;  // no extensions at all: before TLS 1.3 (RFC 5246 7.4.1.2)
  const Bytes extensions = r.vector16(0, kU16Max);
  if (Step done = r.finish(); !done) return std::unexpected(done.error());
  if (Step done = read_extensions(extensions, hello); !done) return std::unexpected(done.error());
  return hello;
}

bool offers_post_quantum(const ClientHello& hello) {
  for (size_t i = 0; i < hello.supported_groups.size(); ++i) {
    const Group* group = find_group(hello.supported_groups[i]);
    if (group != nullptr && group->post_quantum) return true;
  }
  return false;
}

}  // namespace pqedge::crypto
