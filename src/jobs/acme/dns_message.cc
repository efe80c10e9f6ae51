#include "jobs/acme/dns_message.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>

#include "base/text.h"

namespace pqedge::acme::dns {
namespace {

constexpr uint16_t kUpdate = 5 << 11;  // the opcode's place in the flags
constexpr uint16_t kAnswer = 0x8000;
constexpr uint16_t kTxt = 16;
constexpr uint16_t kSoa = 6;
constexpr uint16_t kTsig = 250;
constexpr uint16_t kIn = 1;
constexpr uint16_t kNone = 254;  // RFC 2136 2.5.4: remove this record
constexpr uint16_t kAny = 255;
constexpr uint32_t kTtl = 60;
constexpr uint16_t kFudge = 300;  // seconds (RFC 8945 10)
constexpr size_t kHeader = 12;
constexpr size_t kMac = 32;
constexpr std::string_view kAlgorithm = "hmac-sha256";

void put16(std::string& out, uint16_t v) {
  out += static_cast<char>(v >> 8);
  out += static_cast<char>(v & 0xff);
}
void put32(std::string& out, uint32_t v) {
  put16(out, static_cast<uint16_t>(v >> 16));
  put16(out, static_cast<uint16_t>(v & 0xffff));
}
void put48(std::string& out, uint64_t v) {
  put16(out, static_cast<uint16_t>(v >> 32 & 0xffff));
  put32(out, static_cast<uint32_t>(v & 0xffffffff));
}

std::string hmac(const std::string& secret, const std::string& text) {
  std::string mac(kMac, '\0');
  unsigned int size = kMac;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), as_bytes(text).data(),
       text.size(), reinterpret_cast<unsigned char*>(mac.data()), &size);
  return mac;
}

// RFC 8945 4.3.3: what is signed beside the message.
std::string tsig_variables(const Key& key, uint64_t time, uint16_t fudge, uint16_t error,
                           std::string_view other) {
  std::string out = encode_name(key.name);
  put16(out, kAny);
  put32(out, 0);
  out += encode_name(kAlgorithm);
  put48(out, time);
  put16(out, fudge);
  put16(out, error);
  put16(out, static_cast<uint16_t>(other.size()));
  out += other;
  return out;
}

void append_tsig(Message& message, const Change& change, const Key& key) {
  message.mac = hmac(key.secret, message.bytes + tsig_variables(key, change.time, kFudge, 0, {}));
  std::string data = encode_name(kAlgorithm);
  put48(data, change.time);
  put16(data, kFudge);
  put16(data, kMac);
  data += message.mac;
  put16(data, change.id);
  put16(data, 0);  // error
  put16(data, 0);  // no other data
  std::string& out = message.bytes;
  out += encode_name(key.name);
  put16(out, kTsig);
  put16(out, kAny);
  put32(out, 0);
  put16(out, static_cast<uint16_t>(data.size()));
  out += data;
  out[11] = 1;  // one additional record (the count's low byte)
}

// ---- reading ---------------------------------------------------------------------------------

struct Reader {
  Bytes bytes;
  size_t at = 0;

  bool has(size_t n) const { return bytes.size() - at >= n; }
  uint16_t take16() {
    const uint16_t v = load_be16(bytes.data() + at);
    at += 2;
    return v;
  }
  uint64_t take48() {
    const uint64_t high = take16();
    const uint64_t v = high << 32 | load_be32(bytes.data() + at);
    at += 4;
    return v;
  }
  // RFC 1035 4.1.4: labels, or labels and a pointer, which ends it.
  bool skip_name() {
    while (has(1)) {
      const uint8_t length = bytes[at];
      if ((length & 0xc0) == 0xc0) {
        if (!has(2)) return false;
        at += 2;
        return true;
      }
      if (length > 63 || !has(size_t{1} + length)) return false;
      at += size_t{1} + length;
      if (length == 0) return true;
    }
    return false;
  }
};

struct Tsig {
  size_t begins = 0;  // in the message; 0: there is none
  std::string name;   // as it is on the wire
  uint64_t time = 0;
  uint16_t fudge = 0;
  uint16_t error = 0;
  uint16_t original_id = 0;
  std::string mac;
  std::string other;
};

bool read_tsig_data(Reader r, Tsig& out) {
  const size_t name = r.at;
  if (!r.skip_name()) return false;
  const std::string algorithm = to_lower(as_text(r.bytes.subspan(name, r.at - name)));
  if (algorithm != encode_name(kAlgorithm)) return false;
  if (!r.has(10)) return false;
  out.time = r.take48();
  out.fudge = r.take16();
  const uint16_t mac = r.take16();
  if (!r.has(size_t{mac} + 6)) return false;
  out.mac = as_text(r.bytes.subspan(r.at, mac));
  r.at += mac;
  out.original_id = r.take16();
  out.error = r.take16();
  const uint16_t other = r.take16();
  if (!r.has(other)) return false;
  out.other = as_text(r.bytes.subspan(r.at, other));
  return true;
}

// Walks the records; TSIG is the last of the additional ones (RFC 8945 5.1).
bool find_tsig(Bytes answer, Tsig& out) {
  Reader r{answer, 4};
  const uint16_t questions = r.take16();
  size_t records = r.take16();
  records += r.take16();
  records += r.take16();
  for (uint16_t i = 0; i < questions; ++i) {
    if (!r.skip_name() || !r.has(4)) return false;
    r.at += 4;
  }
  for (size_t i = 0; i < records; ++i) {
    const size_t begins = r.at;
    if (!r.skip_name() || !r.has(10)) return false;
    const size_t name_ends = r.at;
    const uint16_t type = r.take16();
    r.at += 6;
    const uint16_t size = r.take16();
    if (!r.has(size)) return false;
    if (type == kTsig) {
      if (i + 1 != records) return false;
      out.begins = begins;
      out.name = to_lower(as_text(answer.subspan(begins, name_ends - begins)));
      return read_tsig_data({answer.first(r.at + size), r.at}, out);
    }
    r.at += size;
  }
  return true;
}

std::string_view explain(uint16_t code) {
  switch (code) {
    case 1: return "FORMERR: it did not understand the update";
    case 2: return "SERVFAIL: it has a fault of its own";
    case 4: return "NOTIMP: it takes no dynamic updates";
    case 5: return "REFUSED: the key may not change this name";
    case 9: return "NOTAUTH: it is not the primary of the zone, or does not take the key";
    case 10: return "NOTZONE: the name is not in the zone";
    case 16: return "BADSIG: the key's secret is another";
    case 17: return "BADKEY: it does not know the key";
    case 18: return "BADTIME: the clocks differ";
    default: return "an error";
  }
}

Result<void> check_tsig(Bytes answer, const Tsig& tsig, const Message& request, const Key& key,
                        uint64_t now) {
  if (tsig.begins == 0) return fail("the DNS server's answer is not signed");
  if (tsig.error != 0) return fail("the DNS server says {} ({})", explain(tsig.error), tsig.error);
  if (tsig.name != encode_name(key.name)) return fail("the answer is signed with another key");
  // RFC 8945 5.3: over the request's MAC, and the message as it was before TSIG was added.
  std::string text;
  put16(text, static_cast<uint16_t>(request.mac.size()));
  text += request.mac;
  std::string message(as_text(answer.first(tsig.begins)));
  store_be16(reinterpret_cast<uint8_t*>(message.data()), tsig.original_id);
  const uint16_t additional = load_be16(answer.data() + 10);
  store_be16(reinterpret_cast<uint8_t*>(message.data()) + 10,
             static_cast<uint16_t>(additional - 1));
  text += message + tsig_variables(key, tsig.time, tsig.fudge, tsig.error, tsig.other);
  const std::string expected = hmac(key.secret, text);
  if (tsig.mac.size() != kMac || CRYPTO_memcmp(tsig.mac.data(), expected.data(), kMac) != 0) {
    return fail("the signature of the DNS server's answer is wrong");
  }
  if (tsig.time > now + kFudge || now > tsig.time + kFudge) {
    return fail("the DNS server's clock differs by more than {} seconds", kFudge);
  }
  return {};
}

}  // namespace

std::string encode_name(std::string_view name) {
  std::string out;
  if (name.ends_with('.')) name.remove_suffix(1);
  while (!name.empty()) {
    const size_t dot = std::min(name.find('.'), name.size());
    if (dot == 0 || dot > 63) return {};
    out += static_cast<char>(dot);
    out += to_lower(name.substr(0, dot));
    name.remove_prefix(std::min(dot + 1, name.size()));
  }
  out += '\0';
  return out.size() <= 255 ? out : std::string();
}

Result<Message> encode_update(const Change& change, const Key& key) {
  const std::string zone = encode_name(change.zone);
  const std::string name = encode_name(change.name);
  if (zone.empty() || name.empty() || change.value.size() > 255) {
    return fail("{} cannot be written as a DNS name", change.name);
  }
  Message message;
  std::string& out = message.bytes;
  put16(out, change.id);
  put16(out, kUpdate);
  put16(out, 1);  // zones
  put16(out, 0);  // prerequisites
  put16(out, 1);  // updates
  put16(out, 0);  // additional
  out += zone;
  put16(out, kSoa);
  put16(out, kIn);
  out += name;
  put16(out, kTxt);
  put16(out, change.add ? kIn : kNone);
  put32(out, change.add ? kTtl : 0);
  put16(out, static_cast<uint16_t>(change.value.size() + 1));
  out += static_cast<char>(change.value.size());
  out += change.value;
  if (!key.name.empty()) {
    if (encode_name(key.name).empty()) return fail("acme.dns.tsig_key is not a DNS name");
    append_tsig(message, change, key);
  }
  return message;
}

Result<void> check_answer(Bytes answer, const Message& request, uint16_t id, const Key& key,
                          uint64_t now) {
  if (answer.size() < kHeader) return fail("the DNS server's answer is cut short");
  const uint16_t flags = load_be16(answer.data() + 2);
  if (load_be16(answer.data()) != id || (flags & kAnswer) == 0 || (flags & 0x7800) != kUpdate) {
    return fail("what the DNS server sent is no answer to the update");
  }
  Tsig tsig;
  if (!find_tsig(answer, tsig)) return fail("the DNS server's answer cannot be read");
  const uint16_t code = flags & 0x000f;
  // An answer to a key that the server does not know cannot be signed.
  if (code != 0) {
    const uint16_t shown = tsig.error != 0 ? tsig.error : code;
    return fail("the DNS server refuses the update: {} ({})", explain(shown), shown);
  }
  if (key.name.empty()) return {};
  return check_tsig(answer, tsig, request, key, now);
}

}  // namespace pqedge::acme::dns
