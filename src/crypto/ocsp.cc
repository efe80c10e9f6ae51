// What to ask, and whom.
#include "crypto/ocsp.h"

#include <openssl/ocsp.h>

#include <algorithm>

#include "base/base64.h"
#include "base/text.h"

namespace pqedge::crypto {
namespace {

constexpr size_t kMaxResponders = 4;
constexpr size_t kMaxUrl = 1024;
constexpr size_t kMaxGetUrl = 255;  // RFC 6960 A.1
// TLS extension types that a certificate demands (RFC 7633 4): status_request and its version 2.
constexpr long kStatusRequest = 5;
constexpr long kStatusRequestV2 = 17;

using RequestPtr = std::unique_ptr<OCSP_REQUEST, FreeWith<OCSP_REQUEST_free>>;
using StorePtr = std::unique_ptr<X509_STORE, FreeWith<X509_STORE_free>>;
using StoreContextPtr = std::unique_ptr<X509_STORE_CTX, FreeWith<X509_STORE_CTX_free>>;

bool is_usable_url(std::string_view url) {
  const std::string start = to_lower(url.substr(0, 8));
  if (!start.starts_with("http://") && !start.starts_with("https://")) return false;
  return url.size() <= kMaxUrl &&
         std::ranges::all_of(url, [](char c) { return c > 0x20 && c < 0x7f; });
}

bool is_self_signed(X509* leaf) { return X509_check_issued(leaf, leaf) == X509_V_OK; }

X509Ptr trusted_issuer(X509* leaf) {
  const StorePtr store(X509_STORE_new());
  const StoreContextPtr context(X509_STORE_CTX_new());
  X509* issuer = nullptr;
  if (store != nullptr && context != nullptr && X509_STORE_set_default_paths(store.get()) == 1 &&
      X509_STORE_CTX_init(context.get(), store.get(), leaf, nullptr) == 1 &&
      X509_STORE_CTX_get1_issuer(&issuer, context.get(), leaf) == 1) {
    return X509Ptr(issuer);
  }
  return nullptr;
}

void append_base64_in_url(std::string& out, std::string_view bytes) {
  for (const char c : base64(bytes)) {
    switch (c) {
      case '+': out += "%2B"; break;
      case '/': out += "%2F"; break;
      case '=': out += "%3D"; break;
      default: out += c;
    }
  }
}

}  // namespace

std::vector<std::string> ocsp_responders(X509* leaf) {
  std::vector<std::string> urls;
  STACK_OF(OPENSSL_STRING)* list = X509_get1_ocsp(leaf);
  for (int i = 0; i < sk_OPENSSL_STRING_num(list) && urls.size() < kMaxResponders; ++i) {
    const std::string_view url = sk_OPENSSL_STRING_value(list, i);
    if (is_usable_url(url) && !std::ranges::contains(urls, url)) urls.emplace_back(url);
  }
  X509_email_free(list);
  clear_errors();
  return urls;
}

bool must_staple(X509* leaf) {
  auto* features =
      static_cast<TLS_FEATURE*>(X509_get_ext_d2i(leaf, NID_tlsfeature, nullptr, nullptr));
  bool found = false;
  for (int i = 0; i < sk_ASN1_INTEGER_num(features); ++i) {
    const long feature = ASN1_INTEGER_get(sk_ASN1_INTEGER_value(features, i));
    found |= feature == kStatusRequest || feature == kStatusRequestV2;
  }
  TLS_FEATURE_free(features);
  clear_errors();
  return found;
}

X509Ptr find_issuer(X509* leaf, const STACK_OF(X509) * chain) {
  X509Ptr issuer;
  if (is_self_signed(leaf)) {
    // Nobody else vouches for it.
  } else if (chain != nullptr && sk_X509_num(chain) > 0) {
    X509* next = sk_X509_value(chain, 0);
    if (X509_check_issued(next, leaf) == X509_V_OK && X509_up_ref(next) == 1) issuer.reset(next);
  } else {
    issuer = trusted_issuer(leaf);
  }
  clear_errors();
  return issuer;
}

Result<std::string> make_ocsp_request(X509* leaf, X509* issuer) {
  clear_errors();
  const RequestPtr request(OCSP_REQUEST_new());
  // SHA-1 names the issuer, it protects nothing; responders know no other for certain (RFC 5019
  // 2.1.1).
  OCSP_CERTID* id = OCSP_cert_to_id(EVP_sha1(), leaf, issuer);
  if (request == nullptr || id == nullptr || OCSP_request_add0_id(request.get(), id) == nullptr) {
    OCSP_CERTID_free(id);
    return fail("the OCSP request cannot be made: {}", take_openssl_error());
  }
  unsigned char* der = nullptr;
  const int size = i2d_OCSP_REQUEST(request.get(), &der);
  if (size <= 0) return fail("the OCSP request cannot be made: {}", take_openssl_error());
  std::string bytes(reinterpret_cast<const char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  return bytes;
}

std::string ocsp_get_url(std::string_view responder, std::string_view request) {
  std::string url(responder);
  // A query in the responder's URL leaves no place for the path that GET needs.
  if (responder.contains('?') || responder.contains('#')) return {};
  if (!url.ends_with('/')) url += '/';
  append_base64_in_url(url, request);
  return url.size() <= kMaxGetUrl ? url : std::string();
}

}  // namespace pqedge::crypto
