// Timestamps of Certificate Transparency: reading, checking, submitting. OpenSSL's own check of the
// same timestamps is the second opinion.
#include "crypto/sct.h"

#include <gtest/gtest.h>
#include <openssl/ct.h>
#include <openssl/sha.h>

#include <ctime>
#include <format>

#include "base/base64.h"
#include "unit/crypto/identity.h"

namespace pqedge::crypto::testing {
namespace {

using StorePtr = std::unique_ptr<CTLOG_STORE, FreeWith<CTLOG_STORE_free>>;
using PolicyPtr = std::unique_ptr<CT_POLICY_EVAL_CTX, FreeWith<CT_POLICY_EVAL_CTX_free>>;
using SctPtr = std::unique_ptr<SCT, FreeWith<SCT_free>>;

std::string big_endian(uint64_t value, int bytes) {
  std::string out;
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(value >> (8 * i) & 0xff);
  return out;
}

template <typename Encode>
std::string der_of(Encode encode) {
  unsigned char* der = nullptr;
  const int size = encode(&der);
  std::string out(reinterpret_cast<const char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  return out;
}

std::string sha256(const std::string& bytes) {
  std::string out(32, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
         reinterpret_cast<unsigned char*>(out.data()));
  return out;
}

std::string sign(EVP_PKEY* key, const std::string& data) {
  const std::unique_ptr<EVP_MD_CTX, FreeWith<EVP_MD_CTX_free>> context(EVP_MD_CTX_new());
  size_t size = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(data.data());
  EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key);
  EVP_DigestSign(context.get(), nullptr, &size, bytes, data.size());
  std::string out(size, '\0');
  EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size, bytes,
                 data.size());
  out.resize(size);
  return out;
}

// A log as RFC 6962 3.2 has it sign.
struct Log {
  KeyPtr key{EVP_EC_gen("P-256")};
  std::string spki = der_of([&](unsigned char** out) { return i2d_PUBKEY(key.get(), out); });
  std::string id = sha256(spki);

  std::string timestamp(const std::string& entry, uint64_t millis) const {
    const std::string data = big_endian(0, 2) + big_endian(millis, 8) + entry + big_endian(0, 2);
    const std::string signature = sign(key.get(), data);
    return big_endian(0, 1) + id + big_endian(millis, 8) + big_endian(0, 2) + "\x04\x03" +
           big_endian(signature.size(), 2) + signature;
  }
};

std::string x509_entry(X509* leaf) {
  const std::string der = der_of([&](unsigned char** out) { return i2d_X509(leaf, out); });
  return big_endian(0, 2) + big_endian(der.size(), 3) + der;
}

class Timestamps : public ::testing::Test {
 protected:
  Timestamps()
      : authority_(make_identity({.common_name = "authority", .is_ca = true})),
        leaf_(make_identity({.dns = {"example.test"}, .issuer = &authority_})),
        now_(std::time(nullptr)),
        logs_(LogList::parse(list_json({&log_})).value()) {}

  static std::string list_json(const std::vector<const Log*>& logs) {
    std::string entries;
    for (const Log* log : logs) {
      entries += std::format(
          "{}{{\"description\":\"Log {}\",\"log_id\":\"{}\",\"key\":\"{}\","
          "\"url\":\"https://ct.test/{}/\",\"mmd\":86400,"
          "\"state\":{{\"usable\":{{\"timestamp\":\"2026-01-01T00:00:00Z\"}}}}}}",
          entries.empty() ? "" : ",", entries.size(), base64(log->id), base64(log->spki),
          entries.size());
    }
    return "{\"version\":\"1\",\"operators\":[{\"name\":\"Test\",\"email\":[],\"logs\":[" +
           entries + "],\"tiled_logs\":[]}]}";
  }

  X509* leaf() const { return leaf_.certificate.get(); }
  X509* issuer() const { return authority_.certificate.get(); }
  uint64_t millis() const { return static_cast<uint64_t>(now_) * 1000; }

  TimestampReport report(const std::string& list, TimestampSource source, X509* of) const {
    return report_timestamps(as_bytes(list), source, of, issuer(), logs_.get(), now_);
  }

  // A certificate with timestamps in it: the log signs it before they are put there.
  X509Ptr with_embedded(uint64_t time) const {
    X509Ptr certificate(X509_dup(leaf()));
    const std::string tbs =
        der_of([&](unsigned char** out) { return i2d_re_X509_tbs(certificate.get(), out); });
    const std::string key_hash = sha256(der_of(
        [&](unsigned char** out) { return i2d_X509_PUBKEY(X509_get_X509_PUBKEY(issuer()), out); }));
    const std::string list = make_timestamp_list(
        {log_.timestamp(big_endian(1, 2) + key_hash + big_endian(tbs.size(), 3) + tbs, time)});
    // Octet strings within each other.
    const std::unique_ptr<ASN1_OCTET_STRING, FreeWith<ASN1_OCTET_STRING_free>> inner(
        ASN1_OCTET_STRING_new());
    ASN1_OCTET_STRING_set(inner.get(), reinterpret_cast<const unsigned char*>(list.data()),
                          static_cast<int>(list.size()));
    const std::string der =
        der_of([&](unsigned char** out) { return i2d_ASN1_OCTET_STRING(inner.get(), out); });
    ASN1_OCTET_STRING_set(inner.get(), reinterpret_cast<const unsigned char*>(der.data()),
                          static_cast<int>(der.size()));
    const std::unique_ptr<X509_EXTENSION, FreeWith<X509_EXTENSION_free>> extension(
        X509_EXTENSION_create_by_NID(nullptr, NID_ct_precert_scts, 0, inner.get()));
    X509_add_ext(certificate.get(), extension.get(), -1);
    X509_sign(certificate.get(), authority_.key.get(), EVP_sha256());
    return certificate;
  }

  // What OpenSSL says of the first timestamp.
  bool openssl_agrees(const std::string& list, sct_source_t source, X509* of) const {
    const TemporaryDirectory directory;
    const std::string file = directory.write(
        "logs.cnf",
        std::format("enabled_logs = one\n[one]\ndescription = one\nkey = {}\n", base64(log_.spki)));
    const StorePtr store(CTLOG_STORE_new());
    if (CTLOG_STORE_load_file(store.get(), file.c_str()) != 1) return false;
    const PolicyPtr policy(CT_POLICY_EVAL_CTX_new());
    CT_POLICY_EVAL_CTX_set_shared_CTLOG_STORE(policy.get(), store.get());
    CT_POLICY_EVAL_CTX_set1_cert(policy.get(), of);
    CT_POLICY_EVAL_CTX_set1_issuer(policy.get(), issuer());
    CT_POLICY_EVAL_CTX_set_time(policy.get(), millis());
    const auto* at = reinterpret_cast<const unsigned char*>(list.data());
    STACK_OF(SCT)* scts = o2i_SCT_LIST(nullptr, &at, list.size());
    const bool good = sk_SCT_num(scts) == 1 && SCT_set_source(sk_SCT_value(scts, 0), source) == 1 &&
                      SCT_validate(sk_SCT_value(scts, 0), policy.get()) == 1;
    SCT_LIST_free(scts);
    return good;
  }

  Identity authority_;
  Identity leaf_;
  Log log_;
  time_t now_;
  std::shared_ptr<const LogList> logs_;
};

TEST_F(Timestamps, OfTheWholeCertificate) {
  const std::string list = make_timestamp_list({log_.timestamp(x509_entry(leaf()), millis())});
  const TimestampReport r = report(list, TimestampSource::file, leaf());
  EXPECT_EQ(r.count, 1u);
  EXPECT_EQ(r.good, 1u);
  EXPECT_EQ(r.logs, std::vector<std::string>{"Log 0"});
  EXPECT_TRUE(r.problems.empty());
  EXPECT_TRUE(openssl_agrees(list, SCT_SOURCE_TLS_EXTENSION, leaf()));
  // The same timestamp says nothing of another certificate.
  const Identity other = make_identity({.dns = {"other.test"}, .issuer = &authority_});
  EXPECT_EQ(report(list, TimestampSource::file, other.certificate.get()).problems.size(), 1u);
  EXPECT_FALSE(openssl_agrees(list, SCT_SOURCE_TLS_EXTENSION, other.certificate.get()));
}

TEST_F(Timestamps, OfThePrecertificate) {
  const X509Ptr certificate = with_embedded(millis());
  const std::string list = embedded_timestamps(certificate.get());
  ASSERT_FALSE(list.empty());
  EXPECT_TRUE(openssl_agrees(list, SCT_SOURCE_X509V3_EXTENSION, certificate.get()));
  const TimestampReport r = report(list, TimestampSource::certificate, certificate.get());
  EXPECT_EQ(r.good, 1u) << (r.problems.empty() ? "" : r.problems.front());
  EXPECT_TRUE(embedded_timestamps(leaf()).empty());
  const auto blind = report_timestamps(as_bytes(list), TimestampSource::certificate,
                                       certificate.get(), nullptr, logs_.get(), now_);
  ASSERT_EQ(blind.problems.size(), 1u);
  EXPECT_NE(blind.problems[0].find("without the issuer"), std::string::npos);
}

TEST_F(Timestamps, OfTheFutureOrOfUnknownLogs) {
  const auto future =
      report(make_timestamp_list({log_.timestamp(x509_entry(leaf()), millis() + 3'600'000)}),
             TimestampSource::file, leaf());
  ASSERT_EQ(future.problems.size(), 1u);
  EXPECT_NE(future.problems[0].find("future"), std::string::npos);
  const Log stranger;
  const auto unknown =
      report(make_timestamp_list({stranger.timestamp(x509_entry(leaf()), millis())}),
             TimestampSource::file, leaf());
  EXPECT_EQ(unknown.unknown, 1u);
  EXPECT_TRUE(unknown.problems.empty());
  // Of a version that is not known nothing is read.
  EXPECT_EQ(report(make_timestamp_list({"\x01whatever"}), TimestampSource::file, leaf()).unknown,
            1u);
}

TEST_F(Timestamps, ListsAreReadStrictly) {
  const std::string one = log_.timestamp(x509_entry(leaf()), millis());
  const std::string good = make_timestamp_list({one, one});
  ASSERT_TRUE(parse_timestamps(as_bytes(good)));
  EXPECT_EQ(parse_timestamps(as_bytes(good))->size(), 2u);
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(parse_timestamps(as_bytes(std::string_view(good).substr(0, size)))) << size;
  }
  EXPECT_FALSE(parse_timestamps(as_bytes(good + "x")));
  EXPECT_FALSE(parse_timestamps(as_bytes(std::string(2, '\0')))) << "empty";
  EXPECT_FALSE(parse_timestamps(as_bytes(make_timestamp_list({one + "x"}))));
  EXPECT_FALSE(parse_timestamps(as_bytes(make_timestamp_list({""}))));
  EXPECT_FALSE(parse_timestamps(as_bytes(make_timestamp_list(std::vector<std::string>(200, one)))));
}

TEST_F(Timestamps, ListsOfLogs) {
  EXPECT_EQ(logs_->all().size(), 1u);
  EXPECT_NE(logs_->find_url("https://ct.test/0"), nullptr);
  EXPECT_EQ(logs_->find_url("https://ct.test/1"), nullptr);
  for (const char* bad : {"", "[]", "{}", "{\"operators\":1}", "{\"operators\":[1]}",
                          "{\"operators\":[{\"logs\":[{\"key\":\"AAAA\"}]}]}",
                          "{\"operators\":[{\"logs\":[{\"key\":7}]}]}", "{\"operators\":["}) {
    EXPECT_FALSE(LogList::parse(bad)) << bad;
  }
}

TEST_F(Timestamps, AnswersOfALog) {
  const std::string timestamp = log_.timestamp(x509_entry(leaf()), millis());
  const std::string signature = timestamp.substr(1 + 32 + 8 + 2);
  const auto answer = [&](std::string_view id, std::string_view version) {
    return std::format(
        "{{\"sct_version\":{},\"id\":\"{}\",\"timestamp\":{},\"extensions\":\"\","
        "\"signature\":\"{}\"}}",
        version, base64(id), millis(), base64(signature));
  };
  const auto read = read_add_chain_answer(answer(log_.id, "0"));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, timestamp);
  EXPECT_FALSE(read_add_chain_answer(answer(log_.id, "1")));
  EXPECT_FALSE(read_add_chain_answer(answer("short", "0")));
  for (const char* bad : {"", "[]", "{}", "{\"sct_version\":0}", "{\"sct_version\":-1}",
                          "{\"sct_version\":0,\"timestamp\":1,\"id\":1,\"extensions\":\"\"}"}) {
    EXPECT_FALSE(read_add_chain_answer(bad)) << bad;
  }
  EXPECT_EQ(add_chain_request({"ab", "c"}), R"({"chain":["YWI=","Yw=="]})");
}

TEST(Base64, IsStrict) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(from_base64(""), "");
  EXPECT_EQ(from_base64("YWI="), "ab");
  for (const char* bad : {"Y", "YWI", "YW=I", "YWI=YWI=", "YW I", "YWI\n", "=YWI", "===="}) {
    EXPECT_FALSE(from_base64(bad)) << bad;
  }
}

}  // namespace
}  // namespace pqedge::crypto::testing
