// OCSP: what is asked, and which answers may be sent on. The answers are made with OpenSSL.
#include "crypto/ocsp.h"

#include <gtest/gtest.h>
#include <openssl/ocsp.h>

#include <ctime>

#include "base/bytes.h"
#include "unit/crypto/identity.h"

namespace pqedge::crypto::testing {
namespace {

using BasicPtr = std::unique_ptr<OCSP_BASICRESP, FreeWith<OCSP_BASICRESP_free>>;
using ResponsePtr = std::unique_ptr<OCSP_RESPONSE, FreeWith<OCSP_RESPONSE_free>>;
using TimePtr = std::unique_ptr<ASN1_TIME, FreeWith<ASN1_TIME_free>>;

constexpr const char* kResponder = "http://ocsp.example.test/";

struct AnswerOptions {
  int status = V_OCSP_CERTSTATUS_GOOD;
  long this_update = -60;  // seconds from now
  long next_update = 3600;
  bool says_next = true;
  const EVP_MD* digest = EVP_sha1();
  int outer_status = OCSP_RESPONSE_STATUS_SUCCESSFUL;
  bool send_signer = true;
};

class Ocsp : public ::testing::Test {
 protected:
  Ocsp()
      : authority_(make_identity({.common_name = "authority", .is_ca = true})),
        leaf_(
            make_identity({.dns = {"example.test"},
                           .issuer = &authority_,
                           .extensions = {{NID_info_access, std::string("OCSP;URI:") + kResponder},
                                          {NID_tlsfeature, "status_request"}}})),
        now_(std::time(nullptr)) {}

  X509* leaf() const { return leaf_.certificate.get(); }
  X509* issuer() const { return authority_.certificate.get(); }

  TimePtr at(long offset) const { return TimePtr(X509_time_adj_ex(nullptr, 0, offset, &now_)); }

  // Of `subject`, signed by `signer`.
  std::string answer(const AnswerOptions& o, const Identity& signer, X509* subject) const {
    const BasicPtr basic(OCSP_BASICRESP_new());
    OCSP_CERTID* id = OCSP_cert_to_id(o.digest, subject, issuer());
    const TimePtr this_update = at(o.this_update);
    const TimePtr next_update = at(o.next_update);
    const TimePtr revoked = at(-7200);
    OCSP_basic_add1_status(basic.get(), id, o.status, OCSP_REVOKED_STATUS_KEYCOMPROMISE,
                           o.status == V_OCSP_CERTSTATUS_REVOKED ? revoked.get() : nullptr,
                           this_update.get(), o.says_next ? next_update.get() : nullptr);
    OCSP_CERTID_free(id);
    if (OCSP_basic_sign(basic.get(), signer.certificate.get(), signer.key.get(), EVP_sha256(),
                        nullptr, o.send_signer ? 0 : OCSP_NOCERTS) != 1) {
      ADD_FAILURE() << take_openssl_error();
    }
    const bool good = o.outer_status == OCSP_RESPONSE_STATUS_SUCCESSFUL;
    const ResponsePtr response(OCSP_response_create(o.outer_status, good ? basic.get() : nullptr));
    unsigned char* der = nullptr;
    const int size = i2d_OCSP_RESPONSE(response.get(), &der);
    std::string out(reinterpret_cast<const char*>(der), static_cast<size_t>(size));
    OPENSSL_free(der);
    return out;
  }
  std::string answer(const AnswerOptions& o = {}) const { return answer(o, authority_, leaf()); }

  Result<OcspAnswer> read(std::string_view der) const {
    return read_ocsp_response(as_bytes(der), leaf(), issuer(), now_);
  }
  std::string problem(std::string_view der) const {
    const auto read_it = read(der);
    return read_it ? "none" : read_it.error().message;
  }

  Identity authority_;
  Identity leaf_;
  mutable time_t now_;
};

TEST_F(Ocsp, WhatTheCertificateSays) {
  EXPECT_EQ(ocsp_responders(leaf()), std::vector<std::string>{kResponder});
  EXPECT_TRUE(must_staple(leaf()));
  EXPECT_TRUE(ocsp_responders(issuer()).empty());
  EXPECT_FALSE(must_staple(issuer()));
}

TEST_F(Ocsp, OnlyHttpRespondersCount) {
  const Identity other = make_identity(
      {.dns = {"x.test"},
       .issuer = &authority_,
       .extensions = {
           {NID_info_access,
            "OCSP;URI:ldap://a.test/,OCSP;URI:file:///etc/passwd,OCSP;URI:HTTPS://b.test,"
            "OCSP;URI:http://c.test/,OCSP;URI:http://c.test/,caIssuers;URI:http://d.test"}}});
  EXPECT_EQ(ocsp_responders(other.certificate.get()),
            (std::vector<std::string>{"HTTPS://b.test", "http://c.test/"}));
}

TEST_F(Ocsp, TheIssuerIsTheFirstIntermediate) {
  const X509StackPtr chain(sk_X509_new_null());
  X509_up_ref(issuer());
  sk_X509_push(chain.get(), issuer());
  const X509Ptr found = find_issuer(leaf(), chain.get());
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(X509_cmp(found.get(), issuer()), 0);
  EXPECT_EQ(find_issuer(issuer(), nullptr), nullptr) << "self-signed";
  const X509StackPtr none(sk_X509_new_null());
  EXPECT_EQ(find_issuer(leaf(), none.get()), nullptr) << "not among the system's";
}

TEST_F(Ocsp, TheQuestionIsAsOpensslReadsIt) {
  const auto request = make_ocsp_request(leaf(), issuer());
  ASSERT_TRUE(request);
  const auto* at = reinterpret_cast<const unsigned char*>(request->data());
  const std::unique_ptr<OCSP_REQUEST, FreeWith<OCSP_REQUEST_free>> read_back(
      d2i_OCSP_REQUEST(nullptr, &at, static_cast<long>(request->size())));
  ASSERT_NE(read_back, nullptr);
  ASSERT_EQ(OCSP_request_onereq_count(read_back.get()), 1);
  ASN1_INTEGER* serial = nullptr;
  OCSP_id_get0_info(nullptr, nullptr, nullptr, &serial,
                    OCSP_onereq_get0_id(OCSP_request_onereq_get0(read_back.get(), 0)));
  EXPECT_EQ(ASN1_INTEGER_cmp(serial, X509_get0_serialNumber(leaf())), 0);
}

// RFC 6960 A.1: the base64 of the request behind the URL, escaped.
TEST_F(Ocsp, TheUrlOfGet) {
  EXPECT_EQ(ocsp_get_url("http://a.test/ocsp", std::string("\xfb\xff\x00", 3)),
            "http://a.test/ocsp/%2B%2F8A");
  EXPECT_EQ(ocsp_get_url("http://a.test/", "a"), "http://a.test/YQ%3D%3D");
  EXPECT_EQ(ocsp_get_url("http://a.test/", std::string(300, 'a')), "") << "longer than 255 bytes";
  EXPECT_EQ(ocsp_get_url("http://a.test/?x=1", "a"), "") << "no place for the path";
}

TEST_F(Ocsp, GoodIsTaken) {
  const auto a = read(answer());
  ASSERT_TRUE(a) << a.error().message;
  EXPECT_EQ(a->status, OcspStatus::good);
  EXPECT_EQ(a->this_update, now_ - 60);
  EXPECT_EQ(a->valid_until, now_ + 3600);
}

TEST_F(Ocsp, AnyHashNamesTheCertificate) {
  EXPECT_EQ(problem(answer({.digest = EVP_sha256()})), "none");
}

TEST_F(Ocsp, RevokedAndUnknownAreTold) {
  const auto revoked = read(answer({.status = V_OCSP_CERTSTATUS_REVOKED}));
  ASSERT_TRUE(revoked) << revoked.error().message;
  EXPECT_EQ(revoked->status, OcspStatus::revoked);
  EXPECT_EQ(revoked->revoked_at, now_ - 7200);
  EXPECT_EQ(revoked->reason, "keyCompromise");
  const auto unknown = read(answer({.status = V_OCSP_CERTSTATUS_UNKNOWN}));
  ASSERT_TRUE(unknown);
  EXPECT_EQ(unknown->status, OcspStatus::unknown);
}

TEST_F(Ocsp, TimesMustHold) {
  EXPECT_NE(problem(answer({.next_update = -1})).find("ran out"), std::string::npos);
  EXPECT_NE(problem(answer({.this_update = 400})).find("clock"), std::string::npos);
  EXPECT_EQ(problem(answer({.this_update = 200})), "none") << "within what clocks differ by";
  EXPECT_NE(problem(answer({.this_update = -60, .next_update = -120})).find("before it begins"),
            std::string::npos);
  const auto open = read(answer({.says_next = false}));
  ASSERT_TRUE(open);
  EXPECT_EQ(open->valid_until, now_ - 60 + kOcspDefaultLife);
  EXPECT_NE(
      problem(answer({.this_update = -kOcspDefaultLife - 1, .says_next = false})).find("ran out"),
      std::string::npos);
}

TEST_F(Ocsp, AnotherCertificatesAnswerIsNone) {
  const Identity other = make_identity({.dns = {"other.test"}, .issuer = &authority_});
  EXPECT_NE(problem(answer({}, authority_, other.certificate.get())).find("other certificates"),
            std::string::npos);
}

TEST_F(Ocsp, OnlyTheIssuerOrItsDelegateSigns) {
  const auto signed_by = [&](const Identity& signer) {
    return problem(answer({}, signer, leaf()));
  };
  const Identity stranger = make_identity({.common_name = "authority", .is_ca = true});
  EXPECT_NE(signed_by(stranger).find("not signed"), std::string::npos);
  const Identity delegate = make_identity(
      {.common_name = "delegate",
       .issuer = &authority_,
       .extensions = {{NID_ext_key_usage, "OCSPSigning"}, {NID_id_pkix_OCSP_noCheck, "NULL"}}});
  EXPECT_EQ(signed_by(delegate), "none");
  const Identity no_delegate = make_identity({.common_name = "subject", .issuer = &authority_});
  EXPECT_NE(signed_by(no_delegate).find("not signed"), std::string::npos);
  const Identity of_stranger = make_identity({.common_name = "delegate",
                                              .issuer = &stranger,
                                              .extensions = {{NID_ext_key_usage, "OCSPSigning"}}});
  EXPECT_NE(signed_by(of_stranger).find("not signed"), std::string::npos);
  const Identity expired = make_identity({.common_name = "delegate",
                                          .begins = -7200,
                                          .ends = -3600,
                                          .issuer = &authority_,
                                          .extensions = {{NID_ext_key_usage, "OCSPSigning"}}});
  EXPECT_NE(signed_by(expired).find("not signed"), std::string::npos);
  EXPECT_EQ(problem(answer({.send_signer = false})), "none") << "the issuer is known here";
}

TEST_F(Ocsp, WhatTheResponderSays) {
  EXPECT_NE(problem(answer({.outer_status = OCSP_RESPONSE_STATUS_TRYLATER})).find("trylater"),
            std::string::npos);
  EXPECT_NE(
      problem(answer({.outer_status = OCSP_RESPONSE_STATUS_UNAUTHORIZED})).find("unauthorized"),
      std::string::npos);
}

TEST_F(Ocsp, GarbageIsRefused) {
  EXPECT_NE(problem("").find("no OCSP response"), std::string::npos);
  EXPECT_NE(problem("<html>").find("no OCSP response"), std::string::npos);
  const std::string good = answer();
  EXPECT_NE(problem(good + "x").find("1 bytes follow"), std::string::npos);
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_NE(problem(std::string_view(good).substr(0, size)), "none") << size;
  }
  for (size_t i = 0; i < good.size(); ++i) {
    std::string changed = good;
    changed[i] = static_cast<char>(changed[i] ^ 0x20);
    const auto read_it = read(changed);
    // Of the certificates that it carries only the signer's counts: the rest is not signed.
    if (read_it) {
      EXPECT_GT(i, good.size() / 3) << i;
    }
  }
  EXPECT_NE(problem(std::string(kMaxOcspResponse + 1, '0')).find("more than"), std::string::npos);
}

}  // namespace
}  // namespace pqedge::crypto::testing
