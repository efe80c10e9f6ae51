#include "measure/chain/staple.h"

#include <openssl/ocsp.h>

namespace pqedge::measure {

using crypto::FreeWith;

namespace {

constexpr long kDay = 24 * 3600;

using BasicPtr = std::unique_ptr<OCSP_BASICRESP, FreeWith<OCSP_BASICRESP_free>>;
using ResponsePtr = std::unique_ptr<OCSP_RESPONSE, FreeWith<OCSP_RESPONSE_free>>;
using CertIdPtr = std::unique_ptr<OCSP_CERTID, FreeWith<OCSP_CERTID_free>>;
using TimePtr = std::unique_ptr<ASN1_TIME, FreeWith<ASN1_TIME_free>>;

}  // namespace

Result<std::vector<uint8_t>> make_staple(X509* certificate, X509* issuer, EVP_PKEY* issuer_key,
                                         const EVP_MD* digest) {
  crypto::clear_errors();
  const BasicPtr basic(OCSP_BASICRESP_new());
  // SHA-1 names the issuer, as RFC 5019 2.1.1 has it and responders do; it signs nothing.
  const CertIdPtr id(OCSP_cert_to_id(EVP_sha1(), certificate, issuer));
  const TimePtr now(X509_gmtime_adj(nullptr, 0));
  const TimePtr next(X509_gmtime_adj(nullptr, 7 * kDay));
  const bool signed_ = basic != nullptr && id != nullptr && now != nullptr && next != nullptr &&
                       OCSP_basic_add1_status(basic.get(), id.get(), V_OCSP_CERTSTATUS_GOOD, 0,
                                              nullptr, now.get(), next.get()) != nullptr &&
                       OCSP_basic_sign(basic.get(), issuer, issuer_key, digest, nullptr,
                                       OCSP_NOCERTS | OCSP_RESPID_KEY) == 1;
  if (!signed_) return fail("cannot make an OCSP response: {}", crypto::take_openssl_error());
  const ResponsePtr response(OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic.get()));
  unsigned char* der = nullptr;
  const int length = response == nullptr ? 0 : i2d_OCSP_RESPONSE(response.get(), &der);
  if (length <= 0) return fail("cannot encode an OCSP response: {}", crypto::take_openssl_error());
  std::vector<uint8_t> out(der, der + length);
  OPENSSL_free(der);
  return out;
}

}  // namespace pqedge::measure
