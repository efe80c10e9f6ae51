#include "crypto/handshake_messages.h"

#include <algorithm>
#include <array>

#include "crypto/client_hello.h"

namespace pqedge::crypto {

namespace {

constexpr uint16_t kPadding = 21;  // RFC 7685

// SHA-256 of "HelloRetryRequest": a ServerHello with this random is one (RFC 8446 4.1.3).
constexpr std::array<uint8_t, 32> kRetryRandom{
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
    0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c};

constexpr uint8_t kChangeCipherSpecRecord = 20;
constexpr uint8_t kAlertRecord = 21;
constexpr uint8_t kHandshakeRecord = 22;
constexpr uint8_t kApplicationRecord = 23;
constexpr size_t kFirstBytes = 32;
constexpr size_t kMaxRecord = 16384 + 256;  // RFC 8446 5.2

// A bounded reader: each take fails by returning less than was asked.
class Cursor {
 public:
  explicit Cursor(Bytes bytes) : rest_(bytes) {}
  bool good() const { return good_; }
  bool empty() const { return rest_.empty(); }
  Bytes bytes(size_t count) {
    if (rest_.size() < count) {
      good_ = false;
      rest_ = {};
      return {};
    }
    const Bytes taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }
  size_t number(size_t size) {
    size_t value = 0;
    for (const uint8_t byte : bytes(size)) value = value << 8 | byte;
    return value;
  }
  Bytes vector(size_t length_size) { return bytes(number(length_size)); }

 private:
  Bytes rest_;
  bool good_ = true;
};

void take_extension(ServerHello& hello, uint16_t type, Bytes body) {
  if (type == extension::kSupportedVersions && body.size() == 2) {
    hello.version = load_be16(body.data());
  } else if (type == extension::kKeyShare && body.size() >= 2) {
    hello.group = load_be16(body.data());
    if (!hello.retry && body.size() >= 4) hello.share = body.size() - 4;
  } else if (type == extension::kPreSharedKey) {
    hello.pre_shared_key = true;
  }
}

}  // namespace

Result<ServerHello> parse_server_hello(Bytes message) {
  Cursor in(message);
  if (in.number(1) != kServerHello) return fail("not a ServerHello");
  Cursor body(in.vector(3));
  if (!in.good() || !in.empty()) return fail("the ServerHello's length is not its own");
  ServerHello hello;
  hello.version = static_cast<uint16_t>(body.number(2));
  hello.retry = std::ranges::equal(body.bytes(32), kRetryRandom);
  hello.session_id = body.vector(1).size();
  hello.cipher = static_cast<uint16_t>(body.number(2));
  body.number(1);  // legacy_compression_method
  Cursor extensions(body.empty() ? Bytes{} : body.vector(2));
  if (!body.good()) return fail("the ServerHello is cut short");
  while (extensions.good() && !extensions.empty()) {
    const auto type = static_cast<uint16_t>(extensions.number(2));
    const Bytes content = extensions.vector(2);
    if (extensions.good()) take_extension(hello, type, content);
  }
  if (!extensions.good()) return fail("an extension of the ServerHello is cut short");
  // The key's own length must be what is left of the extension (RFC 8446 4.2.8).
  return hello;
}

Result<ClientHelloFacts> read_client_hello(Bytes message) {
  const auto hello = parse_client_hello(message);
  if (!hello) return fail("the ClientHello: {}", name(hello.error()));
  ClientHelloFacts facts;
  facts.size = message.size();
  for (const KeyShare& share : hello->key_shares) {
    if (!is_grease(share.group)) facts.shares.emplace_back(share.group, share.key.size());
  }
  for (size_t i = 0; i < hello->supported_groups.size(); ++i) {
    const uint16_t group = hello->supported_groups[i];
    if (!is_grease(group)) facts.groups.push_back(group);
  }
  for (const Extension& e : hello->extensions) {
    if (e.type == kPadding) facts.padding = e.body.size();
  }
  return facts;
}

Result<CertificateFacts> read_certificate(Bytes message) {
  Cursor in(message);
  if (in.number(1) != kCertificate) return fail("not a Certificate message");
  Cursor body(in.vector(3));
  body.vector(1);  // certificate_request_context
  Cursor list(body.vector(3));
  if (!in.good() || !body.good()) return fail("the Certificate message is cut short");
  CertificateFacts facts;
  while (list.good() && !list.empty()) {
    const size_t size = list.vector(3).size();
    list.vector(2);  // extensions of the entry
    if (facts.count++ == 0) facts.leaf = size;
    facts.der += size;
  }
  if (!list.good()) return fail("a certificate is cut short");
  return facts;
}

std::optional<std::vector<uint8_t>> MessageReader::next() {
  if (buffer_.size() < 4) return std::nullopt;
  const size_t size = 4 + load_be24(buffer_.data() + 1);
  if (buffer_.size() < size) return std::nullopt;
  const auto end = buffer_.begin() + static_cast<std::ptrdiff_t>(size);
  std::vector<uint8_t> message(buffer_.begin(), end);
  buffer_.erase(buffer_.begin(), end);
  return message;
}

void RecordReader::take(Bytes bytes) {
  if (first_.size() < kFirstBytes) {
    first_ += as_text(bytes.first(std::min(bytes.size(), kFirstBytes - first_.size())));
  }
  if (broken_) return;
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  size_t at = 0;
  while (at < buffer_.size()) {
    const Bytes rest = Bytes(buffer_).subspan(at);
    const size_t length = rest.size() < 5 ? 0 : load_be16(&rest[3]);
    if (rest[0] < kChangeCipherSpecRecord || rest[0] > kApplicationRecord ||
        (rest.size() > 1 && rest[1] != 3) || length > kMaxRecord) {
      broken_ = true;
      return;
    }
    if (rest.size() < 5 + length) break;
    take_record(rest[0], rest.subspan(5, length));
    at += 5 + length;
  }
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(at));
}

void RecordReader::take_record(uint8_t type, Bytes body) {
  ++records_;
  if (type == kAlertRecord && body.size() == 2 && clear_) alert_ = body[1];
  if (type == kApplicationRecord) clear_ = false;
  if (type != kHandshakeRecord || !clear_) return;
  reader_.take(body);
  while (auto message = reader_.next()) messages_.push_back(std::move(*message));
}

}  // namespace pqedge::crypto
