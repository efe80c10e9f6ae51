#include "http/grpc_web.h"

#include "http/hop_by_hop.h"

namespace pqedge::http {
namespace {

constexpr std::string_view kGrpc = "application/grpc";
constexpr std::string_view kWeb = "application/grpc-web";
constexpr std::string_view kWebText = "application/grpc-web-text";

int digit_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

}  // namespace

std::optional<std::string> Base64Stream::decode(std::string_view text) {
  std::string out;
  out.reserve(text.size() / 4 * 3 + 3);
  for (const char c : text) {
    const int digit = c == '=' ? 0 : digit_of(c);
    if (digit < 0) return std::nullopt;
    if (c == '=') {
      if (have_ < 2) return std::nullopt;
      ++padding_;
    } else if (padding_ > 0) {
      return std::nullopt;
    }
    group_ = group_ << 6 | static_cast<uint32_t>(digit);
    if (++have_ < 4) continue;
    const char bytes[3] = {static_cast<char>(group_ >> 16), static_cast<char>(group_ >> 8),
                           static_cast<char>(group_)};
    out.append(bytes, 3u - padding_);
    group_ = 0;
    have_ = padding_ = 0;
  }
  return out;
}

std::string grpc_web_trailers(const Fields& trailers) {
  std::string section;
  trailers.for_each([&](const Field& f) {
    if (is_hop_by_hop(f.id)) return;
    const std::string_view name = f.id == Name::other ? f.name : lower_name(f.id);
    for (const char c : name) section += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    section.append(": ").append(f.value).append("\r\n");
  });
  if (section.empty()) return {};  // an empty frame would hide the status that the head had
  std::string frame(5, '\0');
  frame[0] = static_cast<char>(0x80);
  store_be32(reinterpret_cast<uint8_t*>(frame.data()) + 1, static_cast<uint32_t>(section.size()));
  return frame + section;
}

std::string to_grpc_web_type(std::string_view grpc_type, bool as_text) {
  return std::string(as_text ? kWebText : kWeb).append(grpc_type.substr(kGrpc.size()));
}

std::string to_grpc_type(std::string_view web_type) {
  const bool text = web_type.size() >= kWebText.size() && web_type[kWeb.size()] == '-';
  return std::string(kGrpc).append(web_type.substr(text ? kWebText.size() : kWeb.size()));
}

}  // namespace pqedge::http
