// How certificates for one name rank, and what a client must list to verify them.
#include <algorithm>
#include <string_view>

#include "crypto/certificates_internal.h"

namespace pqedge::crypto {
namespace {

// RSA from here on takes milliseconds a signature.
constexpr int kSlowRsaBits = 4096;

bool is_a(const EVP_PKEY* key, const char* type) { return EVP_PKEY_is_a(key, type) == 1; }

bool is_rsa(const EVP_PKEY* key) { return is_a(key, "RSA") || is_a(key, "RSA-PSS"); }

bool is_elliptic(const EVP_PKEY* key) {
  return is_a(key, "EC") || is_a(key, "ED25519") || is_a(key, "ED448");
}

std::string_view type_of(const EVP_PKEY* key) {
  const char* type = EVP_PKEY_get0_type_name(key);
  return type == nullptr ? std::string_view() : type;
}

// NIST's security categories: FIPS 204 table 1, FIPS 205 table 2.
uint32_t category(const EVP_PKEY* key) {
  if (is_a(key, "ML-DSA-44")) return 2;
  const int bits = EVP_PKEY_get_security_bits(key);
  return bits >= 256 ? 5 : bits >= 192 ? 3 : 1;
}

// Post-quantum before classical. Among the former by category, of the same one the faster. Among
// the latter elliptic curves before RSA, which is there for clients without them; then by strength.
uint32_t rank_of(const EVP_PKEY* key, bool slow) {
  constexpr uint32_t kPostQuantum = 3'000'000;
  constexpr uint32_t kElliptic = 2'000'000;
  constexpr uint32_t kRsa = 1'000'000;
  if (is_rsa(key)) return kRsa + static_cast<uint32_t>(EVP_PKEY_get_bits(key));
  if (is_elliptic(key)) return kElliptic + static_cast<uint32_t>(EVP_PKEY_get_security_bits(key));
  return kPostQuantum + 10 * category(key) + (slow ? 0 : 1);
}

// A kind of key that is not known here comes from a provider: it is not let loose on a worker.
bool is_slow(const EVP_PKEY* key) {
  if (is_rsa(key)) return EVP_PKEY_get_bits(key) >= kSlowRsaBits;
  return !is_elliptic(key) && !type_of(key).starts_with("ML-DSA");
}

bool is_self_signed(X509* certificate) {
  return (X509_get_extension_flags(certificate) & EXFLAG_SS) != 0;
}

}  // namespace

void fill_rank(Certificate& certificate) {
  certificate.slow = is_slow(certificate.key.get());
  certificate.rank = rank_of(certificate.key.get(), certificate.slow);
  certificate.key_schemes = schemes_of_key(certificate.key.get());
  certificate.signature_schemes.clear();
  // RFC 8446 4.4.2.2: a self-signed certificate is trusted as it is, or not; its signature says
  // nothing.
  const auto note = [&](X509* one) {
    if (!is_self_signed(one)) certificate.signature_schemes.push_back(schemes_of_signature(one));
  };
  note(certificate.leaf.get());
  for (int i = 0; i < sk_X509_num(certificate.chain.get()); ++i) {
    note(sk_X509_value(certificate.chain.get(), i));
  }
}

Certificate Certificate::copy() const {
  Certificate c;
  X509_up_ref(leaf.get());
  c.leaf.reset(leaf.get());
  EVP_PKEY_up_ref(key.get());
  c.key.reset(key.get());
  c.chain.reset(X509_chain_up_ref(chain.get()));
  c.names = names;
  c.file = file;
  c.id = id;
  c.chain_stamp = chain_stamp;
  c.key_stamp = key_stamp;
  c.not_before = not_before;
  c.not_after = not_after;
  c.is_default = is_default;
  c.is_challenge = is_challenge;
  c.rank = rank;
  c.key_schemes = key_schemes;
  c.signature_schemes = signature_schemes;
  c.slow = slow;
  c.ocsp_response = ocsp_response;
  c.ocsp_next_update = ocsp_next_update;
  c.signed_timestamps = signed_timestamps;
  c.compressed = compressed;
  return c;
}

bool same_content(const Certificate& old, const Certificate& fresh) {
  clear_errors();
  if (X509_cmp(old.leaf.get(), fresh.leaf.get()) != 0 ||
      EVP_PKEY_eq(old.key.get(), fresh.key.get()) != 1) {
    return false;
  }
  const int count = sk_X509_num(old.chain.get());
  if (sk_X509_num(fresh.chain.get()) != count || old.file != fresh.file ||
      old.is_default != fresh.is_default || old.is_challenge != fresh.is_challenge) {
    return false;
  }
  // Where files say nothing of timestamps they may have come from a log.
  if (!fresh.signed_timestamps.empty() && old.signed_timestamps != fresh.signed_timestamps) {
    return false;
  }
  for (int i = 0; i < count; ++i) {
    if (X509_cmp(sk_X509_value(old.chain.get(), i), sk_X509_value(fresh.chain.get(), i)) != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace pqedge::crypto
