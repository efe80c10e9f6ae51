#include "jobs/acme/certificate_request.h"

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <algorithm>
#include <array>
#include <format>

#include "base/base64.h"
#include "crypto/certificates_internal.h"
#include "crypto/handles.h"
#include "jobs/acme/account_key.h"

namespace pqedge::acme {
namespace {

using crypto::BioPtr;
using crypto::FreeWith;
using crypto::KeyPtr;
using crypto::X509Ptr;
using ExtensionPtr = std::unique_ptr<X509_EXTENSION, FreeWith<X509_EXTENSION_free>>;
using ObjectPtr = std::unique_ptr<ASN1_OBJECT, FreeWith<ASN1_OBJECT_free>>;
using OctetsPtr = std::unique_ptr<ASN1_OCTET_STRING, FreeWith<ASN1_OCTET_STRING_free>>;
using RequestPtr = std::unique_ptr<X509_REQ, FreeWith<X509_REQ_free>>;

constexpr long kHourSeconds = 3600;
constexpr const char* kAcmeIdentifier = "1.3.6.1.5.5.7.1.31";  // RFC 8737 6.1

struct KeyKind {
  KeyType type;
  std::string_view text;
  const char* algorithm;
  const char* curve;  // of EC
  size_t bits;        // of RSA
};
constexpr std::array kKinds = {
    KeyKind{KeyType::p256, "p256", "EC", "P-256", 0},
    KeyKind{KeyType::p384, "p384", "EC", "P-384", 0},
    KeyKind{KeyType::rsa2048, "rsa2048", "RSA", nullptr, 2048},
    KeyKind{KeyType::rsa3072, "rsa3072", "RSA", nullptr, 3072},
    KeyKind{KeyType::rsa4096, "rsa4096", "RSA", nullptr, 4096},
    KeyKind{KeyType::ml_dsa_44, "ml-dsa-44", "ML-DSA-44", nullptr, 0},
    KeyKind{KeyType::ml_dsa_65, "ml-dsa-65", "ML-DSA-65", nullptr, 0},
    KeyKind{KeyType::ml_dsa_87, "ml-dsa-87", "ML-DSA-87", nullptr, 0},
};

const KeyKind& kind_of(KeyType type) { return *std::ranges::find(kKinds, type, &KeyKind::type); }

KeyPtr make_key(KeyType type) {
  const KeyKind& kind = kind_of(type);
  if (kind.curve != nullptr) return KeyPtr(EVP_EC_gen(kind.curve));
  if (kind.bits != 0) return KeyPtr(EVP_RSA_gen(kind.bits));
  return KeyPtr(EVP_PKEY_Q_keygen(nullptr, nullptr, kind.algorithm));
}

bool is_of(const EVP_PKEY* key, KeyType type) {
  const KeyKind& kind = kind_of(type);
  if (EVP_PKEY_is_a(key, kind.algorithm) != 1) return false;
  if (kind.bits != 0) return EVP_PKEY_get_bits(key) == static_cast<int>(kind.bits);
  if (kind.curve == nullptr) return true;
  return EVP_PKEY_get_bits(key) == (type == KeyType::p256 ? 256 : 384);
}

// Key and hash in one go for EC and RSA; ML-DSA has no hash of its own choosing.
const EVP_MD* digest_of(KeyType type) { return is_ml_dsa(type) ? nullptr : EVP_sha256(); }

std::string alternative_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "DNS:" : ",DNS:") + name;
  return text;
}

ExtensionPtr extension(int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, nullptr, nullptr, nullptr, nullptr, 0);
  return ExtensionPtr(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
}

Result<std::string> key_text(EVP_PKEY* key) {
  const BioPtr bio(BIO_new(BIO_s_secmem()));
  if (bio == nullptr ||
      PEM_write_bio_PKCS8PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return fail("a private key cannot be written: {}", crypto::take_openssl_error());
  }
  const char* text = nullptr;
  const long n = BIO_get_mem_data(bio.get(), &text);
  return std::string(text, static_cast<size_t>(n));
}

bool add_names(X509_REQ* request, const std::vector<std::string>& names) {
  ExtensionPtr names_extension = extension(NID_subject_alt_name, alternative_names(names));
  if (names_extension == nullptr) return false;
  STACK_OF(X509_EXTENSION)* list = sk_X509_EXTENSION_new_null();
  const bool added = list != nullptr && sk_X509_EXTENSION_push(list, names_extension.get()) > 0;
  const bool ok = added && X509_REQ_add_extensions(request, list) == 1;
  sk_X509_EXTENSION_free(list);  // not what is in it
  return ok;
}

// The OCTET STRING of the digest, inside of the extension's own.
ExtensionPtr acme_identifier(std::string_view key_authorization) {
  const std::string value = std::string("\x04\x20", 2) + sha256(key_authorization);
  const ObjectPtr oid(OBJ_txt2obj(kAcmeIdentifier, 1));
  const OctetsPtr octets(ASN1_OCTET_STRING_new());
  if (oid == nullptr || octets == nullptr ||
      ASN1_OCTET_STRING_set(octets.get(), as_bytes(value).data(), static_cast<int>(value.size())) !=
          1) {
    return nullptr;
  }
  return ExtensionPtr(X509_EXTENSION_create_by_OBJ(nullptr, oid.get(), 1, octets.get()));
}

bool add(X509* certificate, ExtensionPtr one) {
  return one != nullptr && X509_add_ext(certificate, one.get(), -1) == 1;
}

// keyIdentifier "." serialNumber, both as base64url of their contents in DER (RFC 9773 4.1).
std::string renewal_id(X509* leaf) {
  const ASN1_OCTET_STRING* issuer = X509_get0_authority_key_id(leaf);
  unsigned char* der = nullptr;
  const int n = i2d_ASN1_INTEGER(X509_get0_serialNumber(leaf), &der);
  std::string id;
  // A serial has at most 20 bytes, so that its length is one.
  if (issuer != nullptr && n > 2) {
    id = base64url(Bytes(ASN1_STRING_get0_data(issuer),
                         static_cast<size_t>(ASN1_STRING_length(issuer)))) +
         "." + base64url(Bytes(der + 2, static_cast<size_t>(n - 2)));
  }
  OPENSSL_free(der);
  crypto::clear_errors();
  return id;
}

}  // namespace

std::string_view to_text(KeyType type) { return kind_of(type).text; }

Result<Request> make_request(const std::vector<std::string>& names, KeyType type) {
  crypto::clear_errors();
  const KeyPtr key = make_key(type);
  const RequestPtr request(X509_REQ_new());
  X509_REQ* r = request.get();
  const bool made = key != nullptr && r != nullptr &&
                    X509_REQ_set_version(r, X509_REQ_VERSION_1) == 1 &&
                    X509_REQ_set_pubkey(r, key.get()) == 1 && add_names(r, names) &&
                    X509_REQ_sign(r, key.get(), digest_of(type)) > 0;
  if (!made) {
    return fail("a certificate request with a key of type {} cannot be made: {}", to_text(type),
                crypto::take_openssl_error());
  }
  auto text = key_text(key.get());
  if (!text) return std::unexpected(text.error());
  Request out;
  out.key_pem = std::move(*text);
  unsigned char* der = nullptr;
  const int n = i2d_X509_REQ(r, &der);
  if (n > 0) out.csr.assign(reinterpret_cast<const char*>(der), static_cast<size_t>(n));
  OPENSSL_free(der);
  if (n <= 0) return fail("a certificate request cannot be encoded");
  return out;
}

Result<crypto::PemPair> make_challenge_certificate(const std::string& name,
                                                   std::string_view key_authorization) {
  crypto::clear_errors();
  const KeyPtr key = make_key(KeyType::p256);
  const X509Ptr certificate(X509_new());
  X509* x = certificate.get();
  const std::unique_ptr<X509_NAME, crypto::FreeWith<X509_NAME_free>> subject(X509_NAME_new());
  const bool made =
      key != nullptr && x != nullptr && subject != nullptr &&
      X509_set_version(x, X509_VERSION_3) == 1 &&
      ASN1_INTEGER_set(X509_get_serialNumber(x), 1) == 1 &&
      X509_gmtime_adj(X509_getm_notBefore(x), -kHourSeconds) != nullptr &&
      X509_gmtime_adj(X509_getm_notAfter(x), 24 * kHourSeconds) != nullptr &&
      X509_NAME_add_entry_by_txt(subject.get(), "CN", MBSTRING_ASC,
                                 reinterpret_cast<const unsigned char*>("ACME challenge"), -1, -1,
                                 0) == 1 &&
      X509_set_subject_name(x, subject.get()) == 1 && X509_set_issuer_name(x, subject.get()) == 1 &&
      X509_set_pubkey(x, key.get()) == 1 &&
      add(x, extension(NID_subject_alt_name, alternative_names({name}))) &&
      add(x, acme_identifier(key_authorization)) && X509_sign(x, key.get(), EVP_sha256()) > 0;
  if (!made) {
    return fail("the certificate of tls-alpn-01 cannot be made: {}", crypto::take_openssl_error());
  }
  auto text = key_text(key.get());
  if (!text) return std::unexpected(text.error());
  const BioPtr bio(BIO_new(BIO_s_mem()));
  if (bio == nullptr || PEM_write_bio_X509(bio.get(), x) != 1) {
    return fail("the certificate of tls-alpn-01 cannot be written: {}",
                crypto::take_openssl_error());
  }
  const char* chain = nullptr;
  const long n = BIO_get_mem_data(bio.get(), &chain);
  return crypto::PemPair{std::string(chain, static_cast<size_t>(n)), std::move(*text)};
}

Result<Validity> check_issued(std::string_view pem, const std::string& what,
                              const std::vector<std::string>& names, KeyType type) {
  const auto parsed = crypto::parse_certificate({pem, pem, what, what, false});
  if (!parsed) return std::unexpected(parsed.error());
  for (const std::string& name : names) {
    if (!std::ranges::contains(parsed->names, name)) return fail("{} is not for {}", what, name);
  }
  if (!is_of(parsed->key.get(), type)) return fail("{} has no {} key", what, to_text(type));
  Validity out;
  out.not_before = crypto::to_unix(X509_get0_notBefore(parsed->leaf.get()));
  out.not_after = parsed->not_after;
  if (out.not_after <= out.not_before) return fail("{} is valid for no time at all", what);
  out.renewal_id = renewal_id(parsed->leaf.get());
  return out;
}

}  // namespace pqedge::acme
