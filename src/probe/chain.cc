// What the certificates of a server are.
#include <openssl/ct.h>
#include <openssl/objects.h>

#include <algorithm>
#include <format>

#include "base/text.h"
#include "crypto/certificates_internal.h"
#include "probe/session.h"

namespace pqedge::probe {
namespace {

constexpr int kLeastSecurity = 112;  // bits; below it NIST SP 800-57 part 1 no longer signs

std::string key_text(EVP_PKEY* key) {
  if (key == nullptr) return "unreadable";
  const char* type = EVP_PKEY_get0_type_name(key);
  std::string text = type == nullptr ? "unknown" : type;
  char curve[64];
  size_t size = 0;
  if (EVP_PKEY_get_group_name(key, curve, sizeof curve, &size) == 1) {
    const std::string_view name(curve, size);
    return text + " " +
           (name == "prime256v1"  ? "P-256"
            : name == "secp384r1" ? "P-384"
            : name == "secp521r1" ? "P-521"
                                  : std::string(name));
  }
  if (text.starts_with("RSA")) text += std::format(" {}", EVP_PKEY_get_bits(key));
  return text;
}

std::string name_text(const X509_NAME* name) {
  const crypto::BioPtr bio(BIO_new(BIO_s_mem()));
  char* data = nullptr;
  if (bio == nullptr || X509_NAME_print_ex(bio.get(), name, 0, XN_FLAG_RFC2253) < 0) return {};
  const long size = BIO_get_mem_data(bio.get(), &data);
  std::string text;
  append_text_escaped(text, {data, static_cast<size_t>(size)});
  return text;
}

CertificateReport read_certificate(X509* certificate) {
  CertificateReport report;
  report.subject = name_text(X509_get_subject_name(certificate));
  report.issuer = name_text(X509_get_issuer_name(certificate));
  EVP_PKEY* key = X509_get0_pubkey(certificate);
  report.key = key_text(key);
  report.bits = key == nullptr ? 0 : EVP_PKEY_get_security_bits(key);
  const int signature = X509_get_signature_nid(certificate);
  report.signature = signature == NID_undef ? "unknown" : OBJ_nid2ln(signature);
  int digest = NID_undef;
  X509_get_signature_info(certificate, &digest, nullptr, nullptr, nullptr);
  // Nobody checks the signature on a root (RFC 8446 4.4.2.4).
  const bool self_signed = X509_self_signed(certificate, 0) == 1;
  report.weak =
      report.bits < kLeastSecurity || (!self_signed && (digest == NID_sha1 || digest == NID_md5));
  report.der = static_cast<size_t>(std::max(0, i2d_X509(certificate, nullptr)));
  report.public_key =
      static_cast<size_t>(std::max(0, i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), nullptr)));
  report.not_after = crypto::to_unix(X509_get0_notAfter(certificate));
  crypto::clear_errors();
  return report;
}

size_t embedded_scts(X509* leaf) {
#ifdef OPENSSL_NO_CT
  return 0;
#else
  auto* list =
      static_cast<STACK_OF(SCT)*>(X509_get_ext_d2i(leaf, NID_ct_precert_scts, nullptr, nullptr));
  if (list == nullptr) return 0;
  const int count = sk_SCT_num(list);
  SCT_LIST_free(list);
  return static_cast<size_t>(std::max(0, count));
#endif
}

}  // namespace

ChainReport read_chain(SSL* ssl, const Seen& seen) {
  ChainReport report;
  report.message = seen.certificate;
  report.signature = seen.signature_bytes;
  report.staple = seen.extras.staple;
  report.scts_in_extension = seen.extras.scts;
  STACK_OF(X509)* chain = SSL_get_peer_cert_chain(ssl);  // a client's has the leaf in it
  for (int i = 0; i < sk_X509_num(chain); ++i) {
    report.certificates.push_back(read_certificate(sk_X509_value(chain, i)));
    report.der += report.certificates.back().der;
  }
  if (X509* leaf = sk_X509_num(chain) > 0 ? sk_X509_value(chain, 0) : nullptr) {
    report.scts_in_certificate = embedded_scts(leaf);
    report.leaf.resize(static_cast<size_t>(std::max(0, i2d_X509(leaf, nullptr))));
    unsigned char* to = report.leaf.data();
    i2d_X509(leaf, &to);
  }
  const long verdict = SSL_get_verify_result(ssl);
  report.trusted = verdict == X509_V_OK && !report.certificates.empty();
  if (!report.trusted) report.trust = X509_verify_cert_error_string(verdict);
  crypto::clear_errors();
  return report;
}

}  // namespace pqedge::probe
