#include "unit/crypto/identity.h"

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace pqedge::crypto::testing {
namespace {

KeyPtr make_key(const std::string& type) {
  if (type == "P-256" || type == "P-384" || type == "P-521")
    return KeyPtr(EVP_EC_gen(type.c_str()));
  if (type == "RSA") return KeyPtr(EVP_RSA_gen(2048));
  if (type == "RSA-1024") return KeyPtr(EVP_RSA_gen(1024));
  return KeyPtr(EVP_PKEY_Q_keygen(nullptr, nullptr, type.c_str()));
}

template <typename Write>
std::string to_pem(Write&& write) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  write(bio.get());
  const char* text = nullptr;
  const long n = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<size_t>(n)};
}

void add_extension(X509* subject, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, subject, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, FreeWith<X509_EXTENSION_free>> e(
      X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  if (e == nullptr || X509_add_ext(subject, e.get(), -1) != 1) std::abort();
}

const EVP_MD* digest_for(EVP_PKEY* key) {
  return EVP_PKEY_is_a(key, "RSA") || EVP_PKEY_is_a(key, "EC") ? EVP_sha256() : nullptr;
}

}  // namespace

std::string certificate_pem(X509* certificate) {
  return to_pem([certificate](BIO* bio) { PEM_write_bio_X509(bio, certificate); });
}

Identity make_identity(const IdentityOptions& options) {
  static long serial = 1000;
  Identity id;
  id.key = make_key(options.key_type);
  id.certificate.reset(X509_new());
  X509* x = id.certificate.get();
  if (id.key == nullptr || x == nullptr) std::abort();
  X509_set_version(x, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(x), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(x), options.begins);
  X509_gmtime_adj(X509_getm_notAfter(x), options.ends);
  const std::unique_ptr<X509_NAME, FreeWith<X509_NAME_free>> subject(X509_NAME_new());
  X509_NAME_add_entry_by_txt(subject.get(), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(options.common_name.c_str()),
                             -1, -1, 0);
  X509_set_subject_name(x, subject.get());
  X509* issuer = options.issuer == nullptr ? x : options.issuer->certificate.get();
  X509_set_issuer_name(x, X509_get_subject_name(issuer));
  X509_set_pubkey(x, id.key.get());
  if (options.is_ca) {
    add_extension(x, issuer, NID_basic_constraints, "critical,CA:TRUE");
    add_extension(x, issuer, NID_key_usage, "critical,keyCertSign");
  }
  std::string names;
  for (const std::string& name : options.dns) names += (names.empty() ? "DNS:" : ",DNS:") + name;
  if (!names.empty()) add_extension(x, issuer, NID_subject_alt_name, names);
  for (const auto& [nid, value] : options.extensions) add_extension(x, issuer, nid, value);
  EVP_PKEY* signer = options.issuer == nullptr ? id.key.get() : options.issuer->key.get();
  if (X509_sign(x, signer, digest_for(signer)) <= 0) std::abort();
  id.chain_pem = certificate_pem(x);
  if (options.issuer != nullptr) id.chain_pem += options.issuer->chain_pem;
  id.key_pem = to_pem([&](BIO* bio) {
    PEM_write_bio_PKCS8PrivateKey(bio, id.key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
  return id;
}

TemporaryDirectory::TemporaryDirectory() {
  std::string name = std::filesystem::temp_directory_path() / "pqedge-crypto-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) std::abort();
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() { std::filesystem::remove_all(path_); }

std::string TemporaryDirectory::write(const std::string& name, const std::string& content) const {
  std::ofstream(path(name), std::ios::binary) << content;
  return path(name);
}

}  // namespace pqedge::crypto::testing
