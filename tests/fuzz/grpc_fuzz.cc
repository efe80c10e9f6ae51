// What a client says of a gRPC call: its content type, its time, and the base64 of gRPC-Web, which
// must come out the same however it is cut.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "base/arena.h"
#include "base/base64.h"
#include "base/bytes.h"
#include "base/text.h"
#include "http/grpc.h"
#include "http/grpc_web.h"

namespace {

using namespace pqedge;

void require(bool holds) {
  if (!holds) std::abort();
}

// Nothing: it is no base64.
std::optional<std::string> decode(std::string_view text, size_t piece, size_t& begun) {
  http::Base64Stream stream;
  std::string out;
  while (!text.empty()) {
    const auto plain = stream.decode(text.substr(0, piece));
    if (!plain) return std::nullopt;
    out += *plain;
    text.remove_prefix(std::min(piece, text.size()));
  }
  begun = stream.begun();
  return out;
}

void check_base64(std::string_view text) {
  size_t begun = 0;
  size_t begun_cut = 0;
  const auto whole = decode(text, SIZE_MAX, begun);
  for (const size_t piece : {size_t{1}, size_t{3}, size_t{7}}) {
    require(decode(text, piece, begun_cut) == whole);
    require(!whole || begun_cut == begun);
  }
  if (!whole) return;
  require(begun == text.size() % 4);
  // The strict decoder of one piece takes less, and must read the same.
  if (const auto strict = from_base64(text)) require(begun == 0 && *strict == *whole);
  // Written in one piece it is read back.
  require(from_base64(base64(*whole)) == *whole);
}

void check_timeout(std::string_view text) {
  const auto time = http::parse_grpc_timeout(text);
  if (!time) return;
  require(text.size() >= 2 && text.size() <= 9);
  __extension__ unsigned __int128 wanted = 0;
  for (const char c : text.substr(0, text.size() - 1)) {
    require(c >= '0' && c <= '9');
    wanted = wanted * 10 + static_cast<unsigned>(c - '0');
  }
  switch (text.back()) {
    case 'H': wanted *= 3600 * kSecond; break;
    case 'M': wanted *= 60 * kSecond; break;
    case 'S': wanted *= kSecond; break;
    case 'm': wanted *= kMillisecond; break;
    case 'u': wanted *= 1000; break;
    default: require(text.back() == 'n');
  }
  require(*time ==
          (wanted > http::kLongestTimeout ? http::kLongestTimeout : static_cast<Nanos>(wanted)));
}

void check_type(std::string_view type) {
  const http::GrpcKind kind = http::grpc_kind(type);
  if (kind != http::GrpcKind::web && kind != http::GrpcKind::web_text) return;
  const std::string plain = http::to_grpc_type(type);
  require(http::grpc_kind(plain) == http::GrpcKind::grpc);
  const bool text = kind == http::GrpcKind::web_text;
  require(http::grpc_kind(http::to_grpc_web_type(plain, text)) == kind);
}

void check_message(std::string_view message) {
  Arena arena;
  const std::string_view written = http::grpc_message(message, arena);
  std::string back;
  for (size_t i = 0; i < written.size(); ++i) {
    require(written[i] >= 0x20 && written[i] <= 0x7e);
    const int byte = percent_byte(written.substr(i));
    back += byte < 0 ? written[i] : static_cast<char>(byte);
    if (byte >= 0) i += 2;
  }
  require(back == message);
}

// One frame, which says how long it is, of lines that end as they should.
void check_trailers(std::string_view value) {
  if (!http::is_field_value(value)) return;
  Arena arena;
  http::Fields fields(arena);
  fields.add("Grpc-Message", value);
  fields.add("connection", value);
  fields.add("x", "y");
  const std::string frame = http::grpc_web_trailers(fields);
  const std::string wanted = "grpc-message: " + std::string(value) + "\r\nx: y\r\n";
  require(frame.size() == wanted.size() + 5 && static_cast<uint8_t>(frame[0]) == 0x80);
  require(load_be32(reinterpret_cast<const uint8_t*>(frame.data()) + 1) == wanted.size());
  require(frame.substr(5) == wanted);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 4096) return 0;
  const std::string_view text = as_text(Bytes(data, size));
  check_base64(text);
  check_timeout(text);
  check_type(text);
  check_message(text);
  check_trailers(text);
  return 0;
}
