#include "jobs/acme/problem_text.h"

#include <ctime>
#include <format>
#include <optional>

#include "base/text.h"
#include "jobs/acme/messages.h"

namespace pqedge::acme {
namespace {

constexpr std::string_view kPrefix = "urn:ietf:params:acme:error:";
constexpr size_t kMaxDetail = 512;
constexpr size_t kMaxType = 80;

std::string shown(std::string_view text, size_t most) {
  std::string out;
  append_text_escaped(out, text.substr(0, most));
  if (text.size() > most) out += "...";
  return out;
}

std::string_view explain(std::string_view type) {
  static constexpr std::pair<std::string_view, std::string_view> kTexts[] = {
      {"accountDoesNotExist", "the CA does not know our account"},
      {"alreadyReplaced", "the CA has replaced that certificate already"},
      {"alreadyRevoked", "the certificate is revoked already"},
      {"badCSR", "the CA does not take the certificate request, or its kind of key"},
      {"badNonce", "the CA did not take our nonce"},
      {"badPublicKey", "the CA does not take this kind of key"},
      {"badSignatureAlgorithm", "the CA does not take our account's kind of signature"},
      {"caa", "a CAA record of the domain forbids this CA"},
      {"compound", "several things are wrong"},
      {"connection",
       "the CA could not connect to the name for its check: is the name's address "
       "right, and the port open to the world?"},
      {"dns", "the CA's DNS query failed: does the name exist?"},
      {"externalAccountRequired",
       "the CA wants an account of its own first: set acme.eab_key_id and acme.eab_key_file"},
      {"incorrectResponse",
       "the CA's check got a wrong answer: does the name lead to this server?"},
      {"invalidContact", "the CA does not take acme.email"},
      {"malformed", "the CA could not understand the request"},
      {"orderNotReady", "the order is not ready yet"},
      {"rateLimited", "the CA's rate limit is reached"},
      {"rejectedIdentifier", "the CA does not issue for this name"},
      {"serverInternal", "the CA has a fault of its own"},
      {"tls", "the CA's check could not make a TLS connection to the name"},
      {"unauthorized", "the CA does not believe that the name is ours"},
      {"unsupportedContact", "the CA does not take this kind of contact"},
      {"unsupportedIdentifier", "the CA does not issue for this kind of name"},
      {"userActionRequired", "the CA wants a person to do something first"},
  };
  for (const auto& [name, text] : kTexts) {
    if (name == type) return text;
  }
  return {};
}

}  // namespace

std::string short_type(std::string_view type) {
  if (type.starts_with(kPrefix)) type.remove_prefix(kPrefix.size());
  return shown(type, kMaxType);
}

std::string problem_text(std::string_view type, std::string_view detail) {
  std::string out(explain(type));
  if (!type.empty()) {
    out += out.empty() ? std::string(type) : std::format(" ({})", type);
  }
  if (!detail.empty()) out += (out.empty() ? "" : ": ") + shown(detail, kMaxDetail);
  return out.empty() ? "without an explanation" : out;
}

std::string subproblem_text(std::string_view name, std::string_view type, std::string_view detail) {
  return std::format("; {}: {}", shown(name, 253), problem_text(type, detail));
}

// RFC 3339 5.6: "2025-01-02T04:00:00.5Z", "2025-01-02T04:00:00+02:00".
std::optional<int64_t> parse_time(std::string_view text) {
  const auto number = [&](size_t at, size_t digits) -> int {
    int value = 0;
    for (size_t i = at; i < at + digits; ++i) {
      if (i >= text.size() || !is_digit(text[i])) return -1;
      value = value * 10 + (text[i] - '0');
    }
    return value;
  };
  const auto is = [&](size_t at, char c) { return at < text.size() && text[at] == c; };
  tm t{};
  const int year = number(0, 4);
  t.tm_mon = number(5, 2) - 1;
  t.tm_mday = number(8, 2);
  t.tm_hour = number(11, 2);
  t.tm_min = number(14, 2);
  t.tm_sec = number(17, 2);
  if (year < 1970 || t.tm_mon < 0 || t.tm_mon > 11 || t.tm_mday < 1 || t.tm_mday > 31 ||
      t.tm_hour < 0 || t.tm_hour > 23 || t.tm_min < 0 || t.tm_min > 59 || t.tm_sec < 0 ||
      t.tm_sec > 60) {
    return std::nullopt;
  }
  if (!is(4, '-') || !is(7, '-') || !(is(10, 'T') || is(10, 't') || is(10, ' ')) || !is(13, ':') ||
      !is(16, ':')) {
    return std::nullopt;
  }
  t.tm_year = year - 1900;
  size_t at = 19;
  if (is(at, '.')) {
    const size_t first = ++at;
    while (at < text.size() && is_digit(text[at])) ++at;
    if (at == first) return std::nullopt;
  }
  int64_t offset = 0;
  if (is(at, '+') || is(at, '-')) {
    const int hours = number(at + 1, 2);
    const int minutes = number(at + 4, 2);
    if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59 || !is(at + 3, ':')) {
      return std::nullopt;
    }
    offset = (hours * 60 + minutes) * 60 * (text[at] == '-' ? -1 : 1);
    at += 6;
  } else if (is(at, 'Z') || is(at, 'z')) {
    ++at;
  } else {
    return std::nullopt;
  }
  if (at != text.size()) return std::nullopt;
  return timegm(&t) - offset;
}

}  // namespace pqedge::acme
