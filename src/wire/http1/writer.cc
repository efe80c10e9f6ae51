#include "wire/http1/writer.h"

#include <algorithm>
#include <charconv>
#include <memory>

#include "base/text.h"
#include "wire/http1/scan.h"

namespace pqedge::http1 {
namespace {

using http::Name;

constexpr size_t kFirstBuffer = 4096;
constexpr std::string_view kCrlf = "\r\n";

struct Buffer {
  std::unique_ptr<char[]> data = std::make_unique_for_overwrite<char[]>(kFirstBuffer);
  size_t capacity = kFirstBuffer;
};

Buffer& buffer() {
  thread_local Buffer b;
  return b;
}

// Made anew on each connection, whatever a field list says.
bool belongs_to_hop(Name id) {
  switch (id) {
    case Name::connection:
    case Name::content_length:
    case Name::http2_settings:
    case Name::keep_alive:
    case Name::proxy_connection:
    case Name::te:
    case Name::transfer_encoding:
    case Name::upgrade: return true;
    default: return false;
  }
}

}  // namespace

// ---- lines --------------------------------------------------------------------------------------
HeadWriter::HeadWriter() {
  Buffer& b = buffer();
  at_ = b.data.get();
  end_ = at_ + b.capacity;
}

void HeadWriter::grow(size_t n) {
  Buffer& b = buffer();
  const auto used = static_cast<size_t>(at_ - b.data.get());
  b.capacity = std::max(used + n, b.capacity * 2);
  auto larger = std::make_unique_for_overwrite<char[]>(b.capacity);
  std::memcpy(larger.get(), b.data.get(), used);
  b.data = std::move(larger);
  at_ = b.data.get() + used;
  end_ = b.data.get() + b.capacity;
}

void HeadWriter::put(std::string_view text) {
  if (text.empty()) return;
  sound_ &= copy_checked(at_, text.data(), text.size());
  at_ += text.size();
}

void HeadWriter::trust(std::string_view text) {
  std::memcpy(at_, text.data(), text.size());
  at_ += text.size();
}

void HeadWriter::line(std::string_view text) {
  need(text.size());
  trust(text);
}

void HeadWriter::field(std::string_view name, std::string_view value) {
  need(name.size() + value.size() + 4);
  put(name);
  trust(": ");
  put(value);
  trust(kCrlf);
}

void HeadWriter::fields(const http::Fields& fields, bool skip_host) {
  for (const http::Field& f : fields.raw()) {
    if (f.removed || belongs_to_hop(f.id) || (skip_host && f.id == Name::host)) continue;
    field(f.name, f.value);
  }
}

void HeadWriter::content_length(uint64_t length) {
  constexpr std::string_view kName = "Content-Length: ";
  need(kName.size() + 20 + kCrlf.size());
  trust(kName);
  at_ = std::to_chars(at_, end_, length).ptr;
  trust(kCrlf);
}

void HeadWriter::status_line(uint16_t status) {
  const std::string_view reason = http::reason_phrase(status);
  need(reason.size() + 16);
  trust("HTTP/1.1 ");
  *at_++ = static_cast<char>('0' + status / 100 % 10);
  *at_++ = static_cast<char>('0' + status / 10 % 10);
  *at_++ = static_cast<char>('0' + status % 10);
  *at_++ = ' ';
  put(reason);
  trust(kCrlf);
}

void HeadWriter::request_line(std::string_view method, std::string_view target) {
  constexpr std::string_view kVersion = " HTTP/1.1\r\n";
  need(method.size() + target.size() + kVersion.size() + 1);
  put(method);
  *at_++ = ' ';
  // A space would end the target early: one more thing that nobody may do for us.
  sound_ &= !target.empty() && target.find(' ') == std::string_view::npos;
  put(target);
  trust(kVersion);
}

Bytes HeadWriter::finish() {
  need(kCrlf.size());
  trust(kCrlf);
  if (!sound_) return {};
  const char* const begin = buffer().data.get();
  return as_bytes({begin, static_cast<size_t>(at_ - begin)});
}

// ---- heads --------------------------------------------------------------------------------------
namespace {

void write_framing(HeadWriter& head, const Framing& framing) {
  if (framing.coding == Coding::chunked) {
    head.line("Transfer-Encoding: chunked\r\n");
  } else if (framing.has_length) {
    head.content_length(framing.length);
  }
}

}  // namespace

Bytes write_response_head(const http::Response& response, const Framing& framing,
                          Persistence persistence) {
  HeadWriter head;
  head.status_line(response.status);
  head.fields(response.fields, false);
  write_framing(head, framing);
  if (persistence == Persistence::close) head.line("Connection: close\r\n");
  if (persistence == Persistence::keep_alive) head.line("Connection: keep-alive\r\n");
  return head.finish();
}

Bytes write_informational(const http::Response& response) {
  HeadWriter head;
  head.status_line(response.status);
  head.fields(response.fields, false);
  return head.finish();
}

Bytes write_tunnel_head(const http::Response& response, std::string_view upgrade) {
  HeadWriter head;
  head.status_line(response.status);
  head.fields(response.fields, false);
  if (!upgrade.empty()) {
    head.line("Connection: Upgrade\r\n");
    head.field("Upgrade", upgrade);
  }
  return head.finish();
}

namespace {

// TE holds for one hop and is said anew (RFC 9110 10.1.4): of it, only trailers pass us.
bool wants_trailers(const http::Fields& fields) {
  const http::Field* te = fields.find(Name::te);
  bool wants = false;
  if (te != nullptr) {
    for_each_member(te->value,
                    [&](std::string_view member) { wants = wants || iequals(member, "trailers"); });
  }
  return wants;
}

}  // namespace

Bytes write_request_head(const http::Request& request, const Framing& framing) {
  HeadWriter head;
  head.request_line(request.method_text, request.target);
  head.field("Host", request.authority);  // first, and empty if there is none (RFC 9112 3.2)
  head.fields(request.fields, true);
  write_framing(head, framing);
  const bool trailers = wants_trailers(request.fields);
  if (trailers) head.line("TE: trailers\r\n");
  if (!request.upgrade.empty()) {
    head.field("Upgrade", request.upgrade);
    head.line(trailers ? "Connection: Upgrade, TE\r\n" : "Connection: Upgrade\r\n");
  } else if (trailers) {
    head.line("Connection: TE\r\n");
  }
  return head.finish();
}

// ---- bodies -------------------------------------------------------------------------------------
namespace {

// Up to it a chunk is copied together with its framing: one piece for the kernel instead of three.
constexpr size_t kSmallChunk = 1024;
constexpr size_t kSizeLine = 18;  // 16 digits and CRLF

char* put_size_line(char* p, size_t size) {
  p = std::to_chars(p, p + 16, size, 16).ptr;
  *p++ = '\r';
  *p++ = '\n';
  return p;
}

Bytes written_to(const char* begin, const char* end) {
  return as_bytes({begin, static_cast<size_t>(end - begin)});
}

}  // namespace

void BodyWriter::write_chunk(net::Stream& stream, Slice bytes) {
  char text[kSizeLine + kSmallChunk + 2];
  char* p = put_size_line(text, bytes.size);
  written_ += static_cast<size_t>(p - text) + bytes.size + kCrlf.size();
  if (bytes.size <= kSmallChunk) {
    std::memcpy(p, bytes.data, bytes.size);
    p += bytes.size;
    *p++ = '\r';
    *p++ = '\n';
    stream.write_copy(written_to(text, p));
    return;
  }
  stream.write_copy(written_to(text, p));
  stream.write(std::move(bytes));
  stream.write_copy(as_bytes(kCrlf));
}

bool BodyWriter::write(net::Stream& stream, Slice bytes) {
  if (bytes.empty()) return true;  // an empty chunk would end the body
  switch (coding_) {
    case Coding::none: return false;
    case Coding::chunked: write_chunk(stream, std::move(bytes)); return true;
    case Coding::until_close:
      written_ += bytes.size;
      stream.write(std::move(bytes));
      return true;
    case Coding::length: break;
  }
  const bool fits = bytes.size <= left_;
  if (!fits) bytes.size = static_cast<size_t>(left_);
  left_ -= bytes.size;
  written_ += bytes.size;
  if (!bytes.empty()) stream.write(std::move(bytes));
  return fits;
}

bool BodyWriter::end(net::Stream& stream, const http::Fields* trailers) {
  if (coding_ == Coding::length) return left_ == 0;
  if (coding_ != Coding::chunked) return true;
  if (trailers == nullptr || trailers->empty()) {
    constexpr std::string_view kLast = "0\r\n\r\n";
    written_ += kLast.size();
    stream.write_copy(as_bytes(kLast));
    return true;
  }
  HeadWriter section;
  section.line("0\r\n");
  section.fields(*trailers, true);
  const Bytes bytes = section.finish();
  written_ += bytes.size();
  stream.write_copy(bytes);
  return !bytes.empty();
}

}  // namespace pqedge::http1
