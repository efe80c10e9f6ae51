#include "http/protected_names.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/text.h"
#include "http/rules.h"

namespace pqedge::http {
namespace {

// Fields by which proxies and CDNs tell backends who the client is, how it connected, what it asked
// for, or how it is framed. "proxy" becomes HTTP_PROXY in CGI, which HTTP clients there obey
// (CVE-2016-5385).
constexpr std::array<std::string_view, 23> kProtected = {"cf-connecting-ip",
                                                         "client-ip",
                                                         "content-length",
                                                         "early-data",
                                                         "fastly-client-ip",
                                                         "forwarded",
                                                         "forwarded-for",
                                                         "host",
                                                         "proxy",
                                                         "proxy-authorization",
                                                         "transfer-encoding",
                                                         "true-client-ip",
                                                         "via",
                                                         "x-client-ip",
                                                         "x-cluster-client-ip",
                                                         "x-envoy-external-address",
                                                         "x-http-version",
                                                         "x-original-forwarded-for",
                                                         "x-original-host",
                                                         "x-original-url",
                                                         "x-real-ip",
                                                         "x-request-id",
                                                         "x-rewrite-url"};
constexpr std::array<std::string_view, 2> kProtectedPrefixes = {"x-forwarded", "x-tls-"};

// By which proxies tell of a client's certificate: nginx and its ingress, HAProxy, Apache, Traefik
// and Envoy (those of X-Forwarded-* included), AWS, Azure, Cloudflare, RFC 9440.
constexpr std::array<std::string_view, 14> kCertificatePrefixes = {
    "cf-client-cert",  "cf-cert-",    "client-cert",     "ssl-client",
    "ssl-server",      "tls-client",  "x-amzn-mtls",     "x-arr-clientcert",
    "x-client-cert",   "x-client-dn", "x-client-verify", "x-forwarded-client-cert",
    "x-forwarded-tls", "x-ssl-"};

constexpr size_t kLongestProtected = 24;
static_assert(std::ranges::max(kProtected, {}, &std::string_view::size).size() ==
              kLongestProtected);
static_assert(std::ranges::is_sorted(kProtected));

// First letters of the above: most other names end here.
constexpr uint32_t first_letters() {
  uint32_t set = 0;
  for (std::string_view s : kProtected) set |= 1u << (s.front() & 31);
  for (std::string_view s : kProtectedPrefixes) set |= 1u << (s.front() & 31);
  for (std::string_view s : kCertificatePrefixes) set |= 1u << (s.front() & 31);
  return set;
}
constexpr uint32_t kFirstLetters = first_letters();

constexpr char fold(char c) {
  const char l = ascii_lower(c);
  return (l >= 'a' && l <= 'z') || is_digit(l) ? l : '-';
}

}  // namespace

Protection protection_of(std::string_view name) {
  if (name.empty()) return Protection::none;
  const char first = ascii_lower(name.front());
  if (first < 'a' || first > 'z' || !(kFirstLetters >> (first & 31) & 1)) return Protection::none;
  char folded[kLongestProtected];
  const size_t size = std::min(name.size(), kLongestProtected);
  bool spelled = true;
  for (size_t i = 0; i < size; ++i) {
    folded[i] = fold(name[i]);
    spelled &= folded[i] == ascii_lower(name[i]);
  }
  const std::string_view text(folded, size);
  for (std::string_view prefix : kCertificatePrefixes) {
    if (text.starts_with(prefix)) return Protection::client_certificate;
  }
  const Protection found = spelled ? Protection::exact : Protection::folded;
  for (std::string_view prefix : kProtectedPrefixes) {
    if (text.starts_with(prefix)) return found;
  }
  if (name.size() > kLongestProtected) return Protection::none;
  return std::ranges::binary_search(kProtected, text) ? found : Protection::none;
}

bool folds_alike(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return fold(x) == fold(y); });
}

bool IdentitySettings::protects(std::string_view name) const {
  return client_certificate.is_one(name) ||
         std::ranges::any_of(protected_fields, [&](std::string_view ours) {
           return ours.size() == name.size() && folds_alike(ours, name);
         });
}

}  // namespace pqedge::http
