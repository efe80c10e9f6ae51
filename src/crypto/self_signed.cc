// A certificate on the spot, and the hash by which a browser can be told to trust it.
#include <arpa/inet.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <array>
#include <cstring>

#include "base/base64.h"
#include "base/text.h"
#include "crypto/certificates.h"
#include "crypto/handles.h"
#include "crypto/server_name.h"

namespace pqedge::crypto {
namespace {

constexpr int kMaxDays = 13;
constexpr long kHourSeconds = 3600;
constexpr long kDaySeconds = 24 * kHourSeconds;
constexpr size_t kMaxCommonName = 64;  // X.520 ub-common-name

bool is_ip(const std::string& name) {
  unsigned char address[sizeof(in6_addr)];
  return inet_pton(AF_INET, name.c_str(), address) == 1 ||
         inet_pton(AF_INET6, name.c_str(), address) == 1;
}

bool is_dns_pattern(std::string_view name) {
  if (name.starts_with("*.")) name.remove_prefix(2);
  std::string lower;
  return judge_server_name(name, lower) == NameVerdict::host;
}

bool set_serial(X509* certificate) {
  std::array<unsigned char, 16> bytes;
  if (RAND_bytes(bytes.data(), bytes.size()) != 1) return false;
  bytes[0] &= 0x7f;  // positive (RFC 5280 4.1.2.2)
  bytes[0] |= 0x40;
  const std::unique_ptr<BIGNUM, FreeWith<BN_free>> number(
      BN_bin2bn(bytes.data(), bytes.size(), nullptr));
  return BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool set_subject(X509* certificate, const std::string& name) {
  const std::unique_ptr<X509_NAME, FreeWith<X509_NAME_free>> subject(X509_NAME_new());
  const std::string text = name.size() <= kMaxCommonName ? name : "pqedge";
  return subject != nullptr &&
         X509_NAME_add_entry_by_txt(subject.get(), "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(text.data()),
                                    static_cast<int>(text.size()), -1, 0) == 1 &&
         X509_set_subject_name(certificate, subject.get()) == 1 &&
         X509_set_issuer_name(certificate, subject.get()) == 1;
}

bool add_extension(X509* certificate, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, FreeWith<X509_EXTENSION_free>> extension(
      X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool add_extensions(X509* certificate, const std::vector<std::string>& names) {
  std::string alternatives;
  for (const std::string& name : names) {
    if (!alternatives.empty()) alternatives += ',';
    alternatives += (is_ip(name) ? "IP:" : "DNS:") + name;
  }
  return add_extension(certificate, NID_basic_constraints, "critical,CA:FALSE") &&
         add_extension(certificate, NID_key_usage, "critical,digitalSignature") &&
         add_extension(certificate, NID_ext_key_usage, "serverAuth") &&
         add_extension(certificate, NID_subject_key_identifier, "hash") &&
         add_extension(certificate, NID_subject_alt_name, alternatives);
}

template <typename Write>
std::string to_pem(Write&& write) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  if (bio == nullptr || write(bio.get()) != 1) return {};
  const char* text = nullptr;
  const long n = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<size_t>(n)};
}

}  // namespace

Result<PemPair> make_self_signed(const std::vector<std::string>& names, int days) {
  if (names.empty()) return fail("a self-signed certificate needs at least one name");
  if (days < 1 || days > kMaxDays) {
    return fail("a self-signed certificate is valid for 1 to {} days, not {}", kMaxDays, days);
  }
  for (const std::string& name : names) {
    if (!is_ip(name) && !is_dns_pattern(name)) {
      return fail("\"{}\" is neither a host name nor an IP address", name);
    }
  }
  const KeyPtr key(EVP_EC_gen("P-256"));
  const X509Ptr certificate(X509_new());
  X509* x = certificate.get();
  const bool made =
      key != nullptr && x != nullptr && X509_set_version(x, X509_VERSION_3) == 1 && set_serial(x) &&
      X509_gmtime_adj(X509_getm_notBefore(x), -kHourSeconds) != nullptr &&
      X509_gmtime_adj(X509_getm_notAfter(x), days * kDaySeconds - kHourSeconds) != nullptr &&
      set_subject(x, names.front()) && X509_set_pubkey(x, key.get()) == 1 &&
      add_extensions(x, names) && X509_sign(x, key.get(), EVP_sha256()) > 0;
  if (!made) return fail("cannot make a self-signed certificate: {}", take_openssl_error());
  PemPair pem;
  pem.chain = to_pem([x](BIO* bio) { return PEM_write_bio_X509(bio, x); });
  pem.key = to_pem([&](BIO* bio) {
    return PEM_write_bio_PKCS8PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
  if (pem.chain.empty() || pem.key.empty()) {
    return fail("cannot write a self-signed certificate: {}", take_openssl_error());
  }
  return pem;
}

Result<std::string> spki_hash(std::string_view chain_pem) {
  const BioPtr bio(BIO_new_mem_buf(chain_pem.data(), static_cast<int>(chain_pem.size())));
  const X509Ptr leaf(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  if (leaf == nullptr) return fail("no certificate can be read: {}", take_openssl_error());
  unsigned char* der = nullptr;
  const int n = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(leaf.get()), &der);
  if (n <= 0) return fail("the public key cannot be encoded: {}", take_openssl_error());
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
  SHA256(der, static_cast<size_t>(n), digest.data());
  OPENSSL_free(der);
  return base64(digest);
}

}  // namespace pqedge::crypto
