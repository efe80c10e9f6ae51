#include "crypto/server_name.h"

#include <arpa/inet.h>

#include <cstring>

#include "base/text.h"

namespace pqedge::crypto {
namespace {

constexpr size_t kMaxName = 253;  // RFC 1035 3.1, as text
constexpr size_t kMaxLabel = 63;  // RFC 1035 2.3.4

bool is_ip_literal(std::string_view s) {
  char text[INET6_ADDRSTRLEN + 2];
  if (s.size() >= sizeof text) return false;
  if (s.size() > 2 && s.front() == '[' && s.back() == ']') s = s.substr(1, s.size() - 2);
  std::memcpy(text, s.data(), s.size());
  text[s.size()] = '\0';
  if (std::strlen(text) != s.size()) return false;
  unsigned char address[sizeof(in6_addr)];
  return inet_pton(AF_INET, text, address) == 1 || inet_pton(AF_INET6, text, address) == 1;
}

// Underscores (RFC 8553) and hyphens at the ends of labels are met in practice and do no harm.
bool is_label_byte(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || c == '-' || c == '_'; }

bool is_host_name(std::string_view lower) {
  if (lower.empty() || lower.size() > kMaxName) return false;
  size_t label = 0;
  for (const char c : lower) {
    if (c == '.') {
      if (label == 0) return false;
      label = 0;
      continue;
    }
    if (!is_label_byte(c) || ++label > kMaxLabel) return false;
  }
  return label > 0;
}

}  // namespace

NameVerdict judge_server_name(std::string_view sent, std::string& lower) {
  lower.clear();
  if (sent.empty() || sent.size() > kMaxName + 1) return NameVerdict::malformed;
  if (is_ip_literal(sent)) return NameVerdict::ip_literal;
  if (sent.ends_with('.')) sent.remove_suffix(1);
  lower = to_lower(sent);
  if (is_host_name(lower)) return NameVerdict::host;
  lower.clear();
  return NameVerdict::malformed;
}

}  // namespace pqedge::crypto
