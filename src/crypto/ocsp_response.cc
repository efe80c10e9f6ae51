// Whether a response may be sent on: its form, what it is about, its times, who signed it.
#include <openssl/ocsp.h>

#include <algorithm>

#include "crypto/certificates_internal.h"
#include "crypto/ocsp.h"

namespace pqedge::crypto {
namespace {

using ResponsePtr = std::unique_ptr<OCSP_RESPONSE, FreeWith<OCSP_RESPONSE_free>>;
using BasicPtr = std::unique_ptr<OCSP_BASICRESP, FreeWith<OCSP_BASICRESP_free>>;
using IdPtr = std::unique_ptr<OCSP_CERTID, FreeWith<OCSP_CERTID_free>>;
using AnswerStorePtr = std::unique_ptr<X509_STORE, FreeWith<X509_STORE_free>>;
using OctetsPtr = std::unique_ptr<ASN1_OCTET_STRING, FreeWith<ASN1_OCTET_STRING_free>>;

// OpenSSL reads more than DER, and checks the signature on what it would write itself: what is sent
// on must be that, byte by byte.
bool is_der(Bytes given, OCSP_BASICRESP* basic) {
  const ResponsePtr again(OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic));
  unsigned char* der = nullptr;
  const int size = again == nullptr ? 0 : i2d_OCSP_RESPONSE(again.get(), &der);
  const bool same = size > 0 && std::ranges::equal(given, Bytes(der, static_cast<size_t>(size)));
  OPENSSL_free(der);
  return same;
}

Result<BasicPtr> parse(Bytes der) {
  if (der.size() > kMaxOcspResponse) {
    return fail("the response has {} bytes, more than the {} that are sent on", der.size(),
                kMaxOcspResponse);
  }
  clear_errors();
  const unsigned char* at = der.data();
  const ResponsePtr response(d2i_OCSP_RESPONSE(nullptr, &at, static_cast<long>(der.size())));
  if (response == nullptr) {
    return fail("what came is no OCSP response: {}", take_openssl_error());
  }
  if (at != der.data() + der.size()) {
    return fail("{} bytes follow the OCSP response", der.data() + der.size() - at);
  }
  const int status = OCSP_response_status(response.get());
  if (status != OCSP_RESPONSE_STATUS_SUCCESSFUL) {
    return fail("the responder says \"{}\"", OCSP_response_status_str(status));
  }
  BasicPtr basic(OCSP_response_get1_basic(response.get()));
  if (basic == nullptr) return fail("the response is of an unknown kind: {}", take_openssl_error());
  if (!is_der(der, basic.get())) return fail("the OCSP response is not in DER");
  return basic;
}

// The certificate's identity by the hash that the responder chose.
bool is_about(const OCSP_CERTID* id, X509* leaf, X509* issuer) {
  ASN1_OBJECT* digest = nullptr;
  auto* given = const_cast<OCSP_CERTID*>(id);  // the getter only reads
  if (OCSP_id_get0_info(nullptr, &digest, nullptr, nullptr, given) != 1) return false;
  const EVP_MD* md = EVP_get_digestbyobj(digest);
  if (md == nullptr) return false;
  const IdPtr wanted(OCSP_cert_to_id(md, leaf, issuer));
  return wanted != nullptr && OCSP_id_cmp(wanted.get(), given) == 0;
}

OCSP_SINGLERESP* find_single(OCSP_BASICRESP* basic, X509* leaf, X509* issuer) {
  for (int i = 0; i < OCSP_resp_count(basic); ++i) {
    OCSP_SINGLERESP* single = OCSP_resp_get0(basic, i);
    if (is_about(OCSP_SINGLERESP_get0_id(single), leaf, issuer)) return single;
  }
  return nullptr;
}

OcspStatus status_from(int status) {
  switch (status) {
    case V_OCSP_CERTSTATUS_GOOD: return OcspStatus::good;
    case V_OCSP_CERTSTATUS_REVOKED: return OcspStatus::revoked;
    default: return OcspStatus::unknown;
  }
}

// An octet string within the extension's octet string (RFC 6962 3.3).
std::string timestamps_of(OCSP_SINGLERESP* single) {
  const int place = OCSP_SINGLERESP_get_ext_by_NID(single, NID_ct_cert_scts, -1);
  if (place < 0) return {};
  const ASN1_OCTET_STRING* value = X509_EXTENSION_get_data(OCSP_SINGLERESP_get_ext(single, place));
  const unsigned char* at = ASN1_STRING_get0_data(value);
  const OctetsPtr list(d2i_ASN1_OCTET_STRING(nullptr, &at, ASN1_STRING_length(value)));
  if (list == nullptr) return {};
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(list.get())),
          static_cast<size_t>(ASN1_STRING_length(list.get()))};
}

Result<OcspAnswer> read_single(OCSP_SINGLERESP* single) {
  OcspAnswer answer;
  int reason = -1;
  ASN1_GENERALIZEDTIME* revoked = nullptr;
  ASN1_GENERALIZEDTIME* this_update = nullptr;
  ASN1_GENERALIZEDTIME* next_update = nullptr;
  answer.status =
      status_from(OCSP_single_get0_status(single, &reason, &revoked, &this_update, &next_update));
  answer.this_update = this_update == nullptr ? 0 : to_unix(this_update);
  answer.valid_until =
      next_update == nullptr ? answer.this_update + kOcspDefaultLife : to_unix(next_update);
  if (answer.this_update <= 0 || answer.valid_until <= 0) {
    return fail("the response's times cannot be read");
  }
  if (revoked != nullptr) answer.revoked_at = to_unix(revoked);
  if (answer.status == OcspStatus::revoked && reason >= 0) {
    answer.reason = OCSP_crl_reason_str(reason);
  }
  answer.timestamps = timestamps_of(single);
  return answer;
}

Result<void> check_times(const OcspAnswer& answer, int64_t now) {
  if (answer.this_update > now + kOcspClockSkew) {
    return fail("the response is of {} seconds from now; is this machine's clock right?",
                answer.this_update - now);
  }
  if (answer.valid_until <= answer.this_update) {
    return fail("the response ends before it begins");
  }
  if (answer.valid_until <= now) {
    return fail("the response ran out {} seconds ago", now - answer.valid_until);
  }
  return {};
}

// RFC 6960 4.2.2.2: the issuer itself, or one with a certificate of the issuer's for that.
Result<void> check_signature(OCSP_BASICRESP* basic, X509* issuer, int64_t now) {
  clear_errors();
  const AnswerStorePtr store(X509_STORE_new());
  const X509StackPtr helpers(sk_X509_new_null());
  if (store == nullptr || helpers == nullptr || X509_STORE_add_cert(store.get(), issuer) != 1 ||
      X509_up_ref(issuer) != 1) {
    return fail("no memory to check an OCSP response");
  }
  if (sk_X509_push(helpers.get(), issuer) <= 0) {
    X509_free(issuer);
    return fail("no memory to check an OCSP response");
  }
  X509_VERIFY_PARAM_set_time(X509_STORE_get0_param(store.get()), static_cast<time_t>(now));
  // The issuer is trusted for this although it is an intermediate.
  if (OCSP_basic_verify(basic, helpers.get(), store.get(), OCSP_PARTIAL_CHAIN) == 1) return {};
  return fail("the response is not signed by the certificate's issuer or its delegate ({})",
              take_openssl_error());
}

}  // namespace

std::string_view name(OcspStatus status) {
  switch (status) {
    case OcspStatus::good: return "good";
    case OcspStatus::revoked: return "revoked";
    case OcspStatus::unknown: return "unknown";
  }
  return "?";
}

Result<OcspAnswer> read_ocsp_response(Bytes der, X509* leaf, X509* issuer, int64_t now) {
  auto basic = parse(der);
  if (!basic) return std::unexpected(basic.error());
  OCSP_SINGLERESP* single = find_single(basic->get(), leaf, issuer);
  clear_errors();
  if (single == nullptr) return fail("the response is about other certificates");
  auto answer = read_single(single);
  clear_errors();
  if (!answer) return answer;
  if (auto ok = check_times(*answer, now); !ok) return std::unexpected(ok.error());
  if (auto ok = check_signature(basic->get(), issuer, now); !ok) {
    return std::unexpected(ok.error());
  }
  return answer;
}

}  // namespace pqedge::crypto
