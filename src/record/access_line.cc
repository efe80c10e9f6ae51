#include "record/access_line.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "base/text.h"
#include "record/timestamp.h"

namespace pqedge::record {
namespace {

// The texts of a record, in the order of the ring, each with the most bytes of it that are kept.
struct TextField {
  std::string_view AccessRecord::* member;
  uint16_t most;
  std::string_view json;  // what comes before the value in the line
  bool optional = false;  // left out where it is empty
};
constexpr TextField kTexts[] = {
    {&AccessRecord::request_id, 128, ",\"request_id\":\""},
    {&AccessRecord::client, 64, ",\"client\":\""},
    {&AccessRecord::listener, 64, ",\"listener\":\""},
    {&AccessRecord::tls_version, 16, ",\"tls_version\":\""},
    {&AccessRecord::group, 48, ",\"group\":\""},
    {&AccessRecord::cipher, 64, ",\"cipher\":\""},
    {&AccessRecord::signature, 48, ",\"signature\":\""},
    {&AccessRecord::sni, 255, ",\"sni\":\""},
    {&AccessRecord::client_subject, 255, ",\"client_subject\":\"", true},
    {&AccessRecord::ech, 16, ",\"ech\":\"", true},
    {&AccessRecord::outer_sni, 255, ",\"outer_sni\":\"", true},
    {&AccessRecord::http_version, 16, ",\"http_version\":\""},
    {&AccessRecord::method, 64, ",\"method\":\""},
    {&AccessRecord::host, 255, ",\"host\":\""},
    {&AccessRecord::path, 2048, ",\"path\":\""},
    {&AccessRecord::route, 64, ",\"route\":\""},
    {&AccessRecord::pool, 64, ",\"pool\":\""},
    {&AccessRecord::backend, 128, ",\"backend\":\""},
    {&AccessRecord::backend_tls_version, 16, ",\"backend_tls_version\":\""},
    {&AccessRecord::backend_group, 48, ",\"backend_group\":\""},
    {&AccessRecord::user_agent, 512, ",\"user_agent\":\""},
    {&AccessRecord::reason, 255, ",\"reason\":\""},
};
constexpr size_t kTextCount = std::size(kTexts);

struct Packed {
  Nanos time;
  uint64_t bytes_in;
  uint64_t bytes_out;
  Nanos duration;
  Nanos connect;
  Nanos first_byte;
  Nanos handshake;
  uint64_t handshake_in;
  uint64_t handshake_out;
  std::array<uint32_t, kTextCount> lengths;  // before cutting
  uint16_t client_port;
  uint16_t status;
  bool resumed;
  bool early_data;
  bool hello_retry;
  uint8_t tries;
};

// Most texts are short: two moves that overlap instead of a call.
void copy_text(uint8_t* to, const char* from, size_t size) {
  if (size > 16) {
    std::memcpy(to, from, size);
  } else if (size >= 8) {
    std::memcpy(to, from, 8);
    std::memcpy(to + size - 8, from + size - 8, 8);
  } else if (size >= 4) {
    std::memcpy(to, from, 4);
    std::memcpy(to + size - 4, from + size - 4, 4);
  } else {
    for (size_t i = 0; i < size; ++i) to[i] = static_cast<uint8_t>(from[i]);
  }
}

void append_number(std::string& out, std::string_view name, uint64_t value) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out += name;
  out.append(digits, end);
}

// Milliseconds with three decimals, or null.
void append_millis(std::string& out, std::string_view name, Nanos value) {
  if (value == kNever) {
    out += name;
    out += "null";
    return;
  }
  const uint64_t micros = value / kMicrosecond;
  append_number(out, name, micros / 1000);
  const auto rest = static_cast<unsigned>(micros % 1000);
  const char decimals[] = {'.', static_cast<char>('0' + rest / 100),
                           static_cast<char>('0' + rest / 10 % 10),
                           static_cast<char>('0' + rest % 10)};
  out.append(decimals, sizeof decimals);
}

void append_text(std::string& out, const TextField& field, const uint8_t* bytes, uint32_t length) {
  const size_t kept = std::min<size_t>(length, field.most);
  out += field.json;
  append_json_escaped(out, {reinterpret_cast<const char*>(bytes), kept});
  if (kept < length) {
    append_number(out, "...(", length);
    out += " bytes)";
  }
  out += '"';
}

}  // namespace

size_t packed_size(const AccessRecord& record) {
  size_t size = sizeof(Packed);
  for (const TextField& f : kTexts) size += std::min<size_t>((record.*f.member).size(), f.most);
  return size;
}

void pack(const AccessRecord& record, uint8_t* to) {
  Packed p{.time = record.time,
           .bytes_in = record.bytes_in,
           .bytes_out = record.bytes_out,
           .duration = record.duration,
           .connect = record.connect,
           .first_byte = record.first_byte,
           .handshake = record.handshake,
           .handshake_in = record.handshake_in,
           .handshake_out = record.handshake_out,
           .lengths = {},
           .client_port = record.client_port,
           .status = record.status,
           .resumed = record.resumed,
           .early_data = record.early_data,
           .hello_retry = record.hello_retry,
           .tries = record.tries};
  uint8_t* at = to + sizeof p;
  for (size_t i = 0; i < kTextCount; ++i) {
    const std::string_view text = record.*kTexts[i].member;
    p.lengths[i] = static_cast<uint32_t>(std::min<size_t>(text.size(), UINT32_MAX));
    const size_t kept = std::min<size_t>(text.size(), kTexts[i].most);
    copy_text(at, text.data(), kept);
    at += kept;
  }
  std::memcpy(to, &p, sizeof p);
}

void append_access_line(std::string& out, std::span<const uint8_t> packed) {
  Packed p;
  std::memcpy(&p, packed.data(), sizeof p);
  const uint8_t* at = packed.data() + sizeof p;

  out += "{\"time\":\"";
  append_timestamp(out, p.time);
  out += '"';
  for (size_t i = 0; i < kTextCount; ++i) {
    const TextField& field = kTexts[i];
    if (field.optional && p.lengths[i] == 0) continue;
    append_text(out, field, at, p.lengths[i]);
    at += std::min<size_t>(p.lengths[i], field.most);
    // Numbers stand beside the texts that they belong to.
    if (field.member == &AccessRecord::client)
      append_number(out, ",\"client_port\":", p.client_port);
    if (field.member == &AccessRecord::sni) {
      out += p.resumed ? ",\"resumed\":true" : ",\"resumed\":false";
      out += p.early_data ? ",\"early_data\":true" : ",\"early_data\":false";
      out += p.hello_retry ? ",\"hello_retry\":true" : ",\"hello_retry\":false";
      append_millis(out, ",\"handshake_ms\":", p.handshake);
      append_number(out, ",\"handshake_bytes_in\":", p.handshake_in);
      append_number(out, ",\"handshake_bytes_out\":", p.handshake_out);
    }
    if (field.member == &AccessRecord::backend) append_number(out, ",\"tries\":", p.tries);
    if (field.member == &AccessRecord::path) {
      append_number(out, ",\"status\":", p.status);
      append_number(out, ",\"bytes_in\":", p.bytes_in);
      append_number(out, ",\"bytes_out\":", p.bytes_out);
      append_millis(out, ",\"duration_ms\":", p.duration);
      append_millis(out, ",\"connect_ms\":", p.connect);
      append_millis(out, ",\"first_byte_ms\":", p.first_byte);
    }
  }
  out += "}\n";
}

}  // namespace pqedge::record
