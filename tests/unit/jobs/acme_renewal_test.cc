// When a certificate is renewed, and what is read from one that was issued.
#include "jobs/acme/renewal.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>

#include "base/base64.h"
#include "crypto/handles.h"
#include "jobs/acme/account_key.h"
#include "jobs/acme/certificate_request.h"

namespace pqedge::acme {
namespace {

constexpr int64_t kBegin = 1'700'000'000;

TEST(AcmeRenewal, ByShareOfTheLifetimeHoweverLong) {
  // 90 days, 160 hours and 6 minutes alike: no fixed number of days (K11).
  for (const int64_t lifetime : {int64_t{90 * 86400}, int64_t{160 * 3600}, int64_t{360}}) {
    const double third = static_cast<double>(lifetime) / 3;
    const double latest = renewal_by_share(kBegin, kBegin + lifetime, 33, 0);
    const double earliest = renewal_by_share(kBegin, kBegin + lifetime, 33, 1);
    EXPECT_NEAR(static_cast<double>(kBegin + lifetime) - latest, third, third * 0.02);
    EXPECT_LT(earliest, latest);
    EXPECT_GT(earliest, static_cast<double>(kBegin) + third);
  }
}

TEST(AcmeRenewal, WithinTheWindowOfTheCa) {
  const RenewalInfo window{kBegin + 1000, kBegin + 2000, ""};
  const double now = static_cast<double>(kBegin);
  EXPECT_DOUBLE_EQ(renewal_by_window(window, kBegin, kBegin + 100'000, now, 0), now + 1000);
  EXPECT_DOUBLE_EQ(renewal_by_window(window, kBegin, kBegin + 100'000, now, 0.5), now + 1500);
  // In the past: at once, jittered by at most a hundredth of the lifetime and a minute.
  const double late = now + 5000;
  for (const double random : {0.0, 0.5, 0.999}) {
    const double at = renewal_by_window(window, kBegin, kBegin + 86400, late, random);
    EXPECT_GE(at, late);
    EXPECT_LE(at, late + 60);
    EXPECT_LE(renewal_by_window(window, kBegin, kBegin + 360, late, random), late + 3.6);
  }
  // A window beyond the certificate's end is not waited for.
  const RenewalInfo never{kBegin + 10'000'000, kBegin + 20'000'000, ""};
  EXPECT_LE(renewal_by_window(never, kBegin, kBegin + 1000, now, 0.5), now + 900);
}

TEST(AcmeRenewal, BackOffDoublesIsJitteredAndObeysTheCa) {
  EXPECT_EQ(back_off(1, 60 * kSecond, 3600 * kSecond, 0, 1.0), 60 * kSecond);
  EXPECT_EQ(back_off(1, 60 * kSecond, 3600 * kSecond, 0, 0.0), 30 * kSecond);
  EXPECT_EQ(back_off(3, 60 * kSecond, 3600 * kSecond, 0, 1.0), 240 * kSecond);
  EXPECT_EQ(back_off(4000, 60 * kSecond, 3600 * kSecond, 0, 1.0), 3600 * kSecond);
  EXPECT_EQ(back_off(1, 60 * kSecond, 3600 * kSecond, 7200 * kSecond, 0.5), 7200 * kSecond);
}

TEST(AcmeRenewal, PollsBetweenAMinuteAndADay) {
  EXPECT_EQ(next_poll(0), 6 * 3600 * kSecond);
  EXPECT_EQ(next_poll(kSecond), 60 * kSecond);
  EXPECT_EQ(next_poll(3600 * kSecond), 3600 * kSecond);
  EXPECT_EQ(next_poll(1'000'000 * kSecond), 86400 * kSecond);
}

// A certificate for a request of ours, as a CA would make it, with the serial and the issuer's key
// identifier of RFC 9773 4.1.
std::string issue(const Request& request) {
  const auto* der = reinterpret_cast<const unsigned char*>(request.csr.data());
  const std::unique_ptr<X509_REQ, crypto::FreeWith<X509_REQ_free>> csr(
      d2i_X509_REQ(nullptr, &der, static_cast<long>(request.csr.size())));
  const crypto::KeyPtr issuer(EVP_EC_gen("P-256"));
  const crypto::X509Ptr x(X509_new());
  X509_set_version(x.get(), X509_VERSION_3);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(x.get()), 0x87654321);
  X509_gmtime_adj(X509_getm_notBefore(x.get()), -60);
  X509_gmtime_adj(X509_getm_notAfter(x.get()), 3600);
  X509_set_pubkey(x.get(), X509_REQ_get0_pubkey(csr.get()));
  EXPECT_EQ(X509_REQ_verify(csr.get(), X509_REQ_get0_pubkey(csr.get())), 1);
  STACK_OF(X509_EXTENSION)* wanted = X509_REQ_get_extensions(csr.get());
  for (int i = 0; i < sk_X509_EXTENSION_num(wanted); ++i) {
    X509_add_ext(x.get(), sk_X509_EXTENSION_value(wanted, i), -1);
  }
  sk_X509_EXTENSION_pop_free(wanted, X509_EXTENSION_free);
  const auto key_id = from_any_base64("aYhba4dGQEHhs3uEe6CuLN4ByNQ");
  const std::unique_ptr<AUTHORITY_KEYID, crypto::FreeWith<AUTHORITY_KEYID_free>> id(
      AUTHORITY_KEYID_new());
  id->keyid = ASN1_OCTET_STRING_new();
  ASN1_OCTET_STRING_set(id->keyid, reinterpret_cast<const unsigned char*>(key_id->data()),
                        static_cast<int>(key_id->size()));
  X509_add1_ext_i2d(x.get(), NID_authority_key_identifier, id.get(), 0, 0);
  X509_sign(x.get(), issuer.get(), EVP_sha256());
  const crypto::BioPtr bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), x.get());
  const char* text = nullptr;
  const long n = BIO_get_mem_data(bio.get(), &text);
  return request.key_pem + std::string(text, static_cast<size_t>(n));
}

TEST(AcmeCertificate, RequestAndRenewalId) {
  const std::vector<std::string> names = {"example.org", "*.example.org"};
  const auto request = make_request(names, KeyType::p256);
  ASSERT_TRUE(request) << request.error().message;
  const std::string pem = issue(*request);
  const auto v = check_issued(pem, "the file", names, KeyType::p256);
  ASSERT_TRUE(v) << v.error().message;
  EXPECT_EQ(v->renewal_id, "aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE");
  EXPECT_NEAR(static_cast<double>(v->not_after - v->not_before), 3660, 2);

  // A CA that lies: other names, another key, another kind of key, no certificate at all.
  EXPECT_NE(check_issued(pem, "x", {"other.org"}, KeyType::p256).error().message.find("other.org"),
            std::string::npos);
  EXPECT_FALSE(check_issued(pem, "x", names, KeyType::rsa2048));
  const auto other = make_request(names, KeyType::p256);
  EXPECT_FALSE(check_issued(other->key_pem + pem.substr(request->key_pem.size()), "x", names,
                            KeyType::p256));
  EXPECT_FALSE(check_issued(request->key_pem + "garbage", "x", names, KeyType::p256));
}

TEST(AcmeCertificate, OtherKindsOfKeys) {
  for (const KeyType type : {KeyType::p384, KeyType::rsa2048, KeyType::ml_dsa_44}) {
    const auto request = make_request({"example.org"}, type);
    ASSERT_TRUE(request) << request.error().message;
    EXPECT_TRUE(check_issued(issue(*request), "x", {"example.org"}, type)) << to_text(type);
  }
}

TEST(AcmeCertificate, ChallengeCarriesTheDigest) {
  const auto pem = make_challenge_certificate("a.test", "token.thumbprint");
  ASSERT_TRUE(pem) << pem.error().message;
  const crypto::BioPtr bio(BIO_new_mem_buf(pem->chain.data(), static_cast<int>(pem->chain.size())));
  const crypto::X509Ptr x(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  ASSERT_NE(x, nullptr);
  const std::unique_ptr<ASN1_OBJECT, crypto::FreeWith<ASN1_OBJECT_free>> oid(
      OBJ_txt2obj("1.3.6.1.5.5.7.1.31", 1));
  const int at = X509_get_ext_by_OBJ(x.get(), oid.get(), -1);
  ASSERT_GE(at, 0);
  X509_EXTENSION* extension = X509_get_ext(x.get(), at);
  EXPECT_EQ(X509_EXTENSION_get_critical(extension), 1);
  const ASN1_OCTET_STRING* value = X509_EXTENSION_get_data(extension);
  const std::string bytes(reinterpret_cast<const char*>(ASN1_STRING_get0_data(value)),
                          static_cast<size_t>(ASN1_STRING_length(value)));
  EXPECT_EQ(bytes, std::string("\x04\x20", 2) + sha256("token.thumbprint"));
}

TEST(AcmeAccountKey, SurvivesItsFile) {
  const auto key = AccountKey::generate();
  ASSERT_TRUE(key) << key.error().message;
  const auto pem = key->to_pem();
  ASSERT_TRUE(pem) << pem.error().message;
  const auto again = AccountKey::from_pem(*pem, "account.key");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->thumbprint(), key->thumbprint());
  EXPECT_TRUE(key->sign(R"({"alg":"ES256"})", "{}"));
  EXPECT_FALSE(AccountKey::from_pem("garbage", "account.key"));
  const auto rsa = make_request({"a.test"}, KeyType::rsa2048);
  EXPECT_NE(AccountKey::from_pem(rsa->key_pem, "account.key").error().message.find("P-256"),
            std::string::npos);
}

}  // namespace
}  // namespace pqedge::acme
