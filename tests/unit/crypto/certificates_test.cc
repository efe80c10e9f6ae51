// Loading, checking and finding certificates, and making one.
#include "crypto/certificates.h"

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <algorithm>

#include "base/log.h"
#include "crypto/certificates_internal.h"
#include "unit/crypto/identity.h"

namespace pqedge::crypto::testing {
namespace {

std::vector<std::string> logged;
void keep_log(log::Level, std::string_view, std::string_view message) {
  logged.emplace_back(message);
}

class Certificates : public ::testing::Test {
 protected:
  void SetUp() override {
    logged.clear();
    log::set_sink(keep_log);
  }

  // The error of loading one pair, with the directory's name taken out.
  std::string error(const std::string& chain, const std::string& key) {
    auto store = CertificateStore::load({{.chain_file = chain, .key_file = key}});
    if (store) return "";
    std::string text = store.error().message;
    const std::string directory = files.path("");
    for (size_t at; (at = text.find(directory)) != text.npos;) text.erase(at, directory.size());
    return text;
  }
  std::string error_of(const std::string& chain, const std::string& key) {
    return error(files.write("chain.pem", chain), files.write("key.pem", key));
  }

  TemporaryDirectory files;
  Identity good = make_identity({.dns = {"a.test"}, .common_name = "a.test"});
};

TEST_F(Certificates, GoodPairsLoad) { EXPECT_EQ(error_of(good.chain_pem, good.key_pem), ""); }

TEST_F(Certificates, OneFileMayHoldBoth) {
  EXPECT_EQ(error_of(good.key_pem + good.chain_pem, good.chain_pem + good.key_pem), "");
}

TEST_F(Certificates, TextAroundTheBlocksIsIgnored) {
  EXPECT_EQ(error_of("subject=CN=a.test\n" + good.chain_pem + "\ntrailing\n", good.key_pem), "");
}

TEST_F(Certificates, FilesThatCannotBeRead) {
  EXPECT_EQ(error(files.path("none.pem"), files.write("key.pem", good.key_pem)),
            "cannot open none.pem: No such file or directory");
  EXPECT_EQ(error(files.write("chain.pem", good.chain_pem), files.path("none.key")),
            "cannot open none.key: No such file or directory");
  EXPECT_EQ(error(files.path("."), files.path(".")), ". is a directory, not a PEM file");
  EXPECT_EQ(error("/dev/null", "/dev/null"), "/dev/null is not a regular file");
}

TEST_F(Certificates, FilesThatHoldSomethingElse) {
  EXPECT_EQ(error_of("", good.key_pem), "chain.pem is empty; it must hold certificates in PEM");
  EXPECT_EQ(error_of(good.chain_pem, " "), "key.pem is empty; it must hold a private key in PEM");
  EXPECT_EQ(error_of("hello", good.key_pem),
            "chain.pem is not PEM: there is no \"-----BEGIN CERTIFICATE-----\" line in it");
  EXPECT_EQ(error_of(good.key_pem, good.chain_pem),
            "chain.pem holds a private key and no certificate; are the two files swapped?");
  EXPECT_EQ(error_of(good.chain_pem, good.chain_pem),
            "key.pem holds a certificate and no private key; are the two files swapped?");
  EXPECT_EQ(error_of(good.chain_pem, "hello"),
            "key.pem is not a PEM private key: there is no \"-----BEGIN PRIVATE KEY-----\" line in "
            "it");
  unsigned char* der = nullptr;
  const int n = i2d_X509(good.certificate.get(), &der);
  EXPECT_EQ(error_of({reinterpret_cast<char*>(der), static_cast<size_t>(n)}, good.key_pem),
            "chain.pem is DER, not PEM; convert it: openssl x509 -inform DER -in chain.pem -out "
            "chain.pem");
  OPENSSL_free(der);
}

TEST_F(Certificates, DamagedBlocks) {
  std::string damaged = good.chain_pem;
  damaged[damaged.size() / 2] = '!';
  EXPECT_TRUE(
      error_of(damaged, good.key_pem).starts_with("chain.pem: certificate 1 cannot be read ("));
  const std::string cut = good.chain_pem.substr(0, good.chain_pem.size() / 2);
  EXPECT_TRUE(error_of(good.chain_pem + cut, good.key_pem)
                  .starts_with("chain.pem: certificate 2 cannot be read ("))
      << error_of(good.chain_pem + cut, good.key_pem);
  std::string damaged_key = good.key_pem;
  damaged_key.replace(60, 8, "AAAAAAAA");
  EXPECT_TRUE(error_of(good.chain_pem, damaged_key)
                  .starts_with("key.pem: the private key cannot be read ("));
}

TEST_F(Certificates, KeyOfAnotherCertificate) {
  const Identity other = make_identity({.key_type = "RSA"});
  EXPECT_EQ(error_of(good.chain_pem, other.key_pem),
            "the private key in key.pem (RSA) does not fit the first certificate of chain.pem (EC, "
            "CN=a.test)");
  const Identity same_type = make_identity({.common_name = "b.test"});
  EXPECT_EQ(error_of(good.chain_pem, same_type.key_pem),
            "the private key in key.pem (EC) does not fit the first certificate of chain.pem (EC, "
            "CN=a.test)");
}

TEST_F(Certificates, ChainOutOfOrder) {
  const Identity root = make_identity({.common_name = "root", .is_ca = true});
  const Identity middle = make_identity({.common_name = "middle", .is_ca = true, .issuer = &root});
  const Identity leaf =
      make_identity({.dns = {"a.test"}, .common_name = "leaf", .issuer = &middle});
  const std::string l = certificate_pem(leaf.certificate.get());
  const std::string m = certificate_pem(middle.certificate.get());
  const std::string r = certificate_pem(root.certificate.get());
  EXPECT_EQ(error_of(l + m + r, leaf.key_pem), "");
  EXPECT_EQ(error_of(l + m, leaf.key_pem), "");
  EXPECT_EQ(error_of(l, leaf.key_pem), "");
  EXPECT_EQ(error_of(l + r + m, leaf.key_pem),
            "chain.pem: the chain is out of order: certificate 2 (CN=root) did not issue "
            "certificate 1 (CN=leaf); put the leaf first, then each issuer after the certificate "
            "that it signed");
  EXPECT_EQ(
      error_of(r + m + l, leaf.key_pem),
      "chain.pem: the key in key.pem belongs to certificate 3, not to the first; put the leaf "
      "first");
}

TEST_F(Certificates, EncryptedKeysAreNotAskedFor) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PKCS8PrivateKey(bio.get(), good.key.get(), EVP_aes_256_cbc(), "secret", 6, nullptr,
                                nullptr);
  const char* text = nullptr;
  const long n = BIO_get_mem_data(bio.get(), &text);
  EXPECT_EQ(error_of(good.chain_pem, {text, static_cast<size_t>(n)}),
            "key.pem is encrypted with a passphrase; decrypt it: openssl pkey -in key.pem -out "
            "key.pem");
}

TEST_F(Certificates, KeysThatTlsCannotUse) {
  const Identity slh = make_identity({.dns = {"a.test"}, .key_type = "SLH-DSA-SHA2-128f"});
  EXPECT_TRUE(
      error_of(slh.chain_pem, slh.key_pem).starts_with("chain.pem: the TLS library in use ("))
      << error_of(slh.chain_pem, slh.key_pem);
  const Identity weak = make_identity({.dns = {"a.test"}, .key_type = "RSA-1024"});
  EXPECT_NE(error_of(weak.chain_pem, weak.key_pem).find("key too small"), std::string::npos);
}

TEST_F(Certificates, DatesAreWarnedOf) {
  const Identity expired =
      make_identity({.common_name = "old", .begins = -10 * 86400, .ends = -3 * 86400 - 60});
  EXPECT_EQ(error_of(expired.chain_pem, expired.key_pem), "");
  EXPECT_TRUE(std::ranges::any_of(logged, [](const std::string& s) {
    return s.find("the certificate of CN=old expired 3 days ago") != s.npos;
  }));
  const Identity early =
      make_identity({.common_name = "new", .begins = 7200 - 60, .ends = 86400 * 9});
  EXPECT_EQ(error_of(early.chain_pem, early.key_pem), "");
  EXPECT_TRUE(std::ranges::any_of(logged, [](const std::string& s) {
    return s.find("the certificate of CN=new is valid only in 2 hours") != s.npos;
  }));
}

// Subjects come from files of others: no control bytes in our messages.
TEST_F(Certificates, SubjectsAreEscaped) {
  const Identity odd = make_identity({.common_name = "a\nb"});
  const Identity other = make_identity({.common_name = "other"});
  const std::string text = error_of(odd.chain_pem, other.key_pem);
  EXPECT_EQ(text.find('\n'), text.npos) << text;
}

TEST_F(Certificates, SettingsOfSeveral) {
  EXPECT_FALSE(CertificateStore::load({}));
  const CertificateSettings one = {.chain_file = files.write("chain.pem", good.chain_pem),
                                   .key_file = files.write("key.pem", good.key_pem),
                                   .is_default = true};
  const auto twice = CertificateStore::load({one, one});
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().message.find("only one can be"), std::string::npos);
}

// ---- finding -----------------------------------------------------------------------------------

TEST_F(Certificates, FoundByName) {
  std::vector<CertificateSettings> settings;
  const auto add = [&](const std::string& name, const std::vector<std::string>& dns) {
    const Identity id = make_identity({.dns = dns, .common_name = name});
    settings.push_back({.chain_file = files.write(name + ".pem", id.chain_pem),
                        .key_file = files.write(name + ".key", id.key_pem)});
  };
  add("zero", {"Zero.Test", "*.zero.test"});
  add("one", {"one.test", "sub.zero.test"});
  add("two", {"f*.two.test", "*.*.two.test", "*.test"});
  add("cn-only.test", {});
  settings[1].is_default = true;
  const auto store = CertificateStore::load(settings);
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_EQ((*store)->size(), 4u);
  const auto find = [&](std::string_view host) {
    const std::string file = (*store)->find(host)->file;
    return file.substr(file.rfind('/') + 1);
  };
  EXPECT_EQ(find("zero.test"), "zero.pem");
  EXPECT_EQ(find("a.zero.test"), "zero.pem");
  EXPECT_EQ(find("sub.zero.test"), "one.pem");  // exact before wildcard
  EXPECT_EQ(find("a.b.zero.test"), "one.pem");  // one label only: the default
  EXPECT_EQ(find(".zero.test"), "one.pem");
  EXPECT_EQ(find("one.test"), "one.pem");
  EXPECT_EQ(find("foo.two.test"), "one.pem");  // RFC 6125 6.4.3: whole labels only
  EXPECT_EQ(find("a.b.two.test"), "one.pem");
  EXPECT_EQ(find("three.test"), "two.pem");
  EXPECT_EQ(find("cn-only.test"), "cn-only.test.pem");
  EXPECT_EQ(find(""), "one.pem");
  EXPECT_EQ(find("elsewhere"), "one.pem");
  const auto info = (*store)->info();
  EXPECT_EQ(info[0].names, (std::vector<std::string>{"zero.test", "*.zero.test"}));
  EXPECT_TRUE(info[0].file.ends_with("zero.pem"));
  EXPECT_GT(info[0].not_after, 1'700'000'000);
}

TEST_F(Certificates, TheFirstOfTwoForOneNameIsServed) {
  const Identity second = make_identity({.dns = {"a.test"}, .common_name = "second"});
  const auto store = CertificateStore::load({
      {.chain_file = files.write("1.pem", good.chain_pem),
       .key_file = files.write("1.key", good.key_pem)},
      {.chain_file = files.write("2.pem", second.chain_pem),
       .key_file = files.write("2.key", second.key_pem)},
  });
  ASSERT_TRUE(store);
  EXPECT_TRUE((*store)->find("a.test")->file.ends_with("1.pem"));
  EXPECT_TRUE(std::ranges::any_of(logged, [](const std::string& s) {
    return s.find("are both for a.test: the former is served") != s.npos;
  }));
}

// ---- made on the spot --------------------------------------------------------------------------

TEST(SelfSigned, IsWhatABrowserTakes) {
  const auto pem = make_self_signed({"localhost", "127.0.0.1", "::1", "*.edge.test"});
  ASSERT_TRUE(pem) << pem.error().message;
  const auto store = CertificateStore::from_pem(pem->chain, pem->key);
  ASSERT_TRUE(store) << store.error().message;
  const Certificate& c = *(*store)->find("localhost");
  X509* x = c.leaf.get();
  EXPECT_EQ(c.names, (std::vector<std::string>{"localhost", "127.0.0.1", "::1", "*.edge.test"}));
  EXPECT_TRUE(EVP_PKEY_is_a(c.key.get(), "EC"));
  // WebTransport pins certificates of less than 14 days.
  const int64_t life = to_unix(X509_get0_notAfter(x)) - to_unix(X509_get0_notBefore(x));
  EXPECT_EQ(life, 13 * 86400);
  EXPECT_EQ(X509_cmp_current_time(X509_get0_notBefore(x)), -1);
  EXPECT_EQ(X509_cmp_current_time(X509_get0_notAfter(x)), 1);
  EXPECT_EQ(X509_check_host(x, "localhost", 0, 0, nullptr), 1);
  EXPECT_EQ(X509_check_host(x, "a.edge.test", 0, 0, nullptr), 1);
  EXPECT_EQ(X509_check_ip_asc(x, "127.0.0.1", 0), 1);
  EXPECT_EQ(X509_check_ip_asc(x, "::1", 0), 1);
  EXPECT_EQ(X509_check_ca(x), 0);
  EXPECT_EQ(X509_check_purpose(x, X509_PURPOSE_SSL_SERVER, 0), 1);
  EXPECT_EQ(X509_verify(x, X509_get0_pubkey(x)), 1);
  EXPECT_EQ(X509_get_version(x), X509_VERSION_3);
}

TEST(SelfSigned, EachIsAnother) {
  const auto a = make_self_signed({"localhost"});
  const auto b = make_self_signed({"localhost"});
  EXPECT_NE(a->key, b->key);
  EXPECT_NE(*spki_hash(a->chain), *spki_hash(b->chain));
}

TEST(SelfSigned, WrongArguments) {
  EXPECT_FALSE(make_self_signed({}));
  EXPECT_FALSE(make_self_signed({"localhost"}, 14));
  EXPECT_FALSE(make_self_signed({"localhost"}, 0));
  EXPECT_FALSE(make_self_signed({"not a name"}));
  EXPECT_FALSE(make_self_signed({"a,DNS:b"}));
  EXPECT_FALSE(spki_hash("nothing"));
}

// Made with: openssl x509 -pubkey -noout | openssl pkey -pubin -outform DER | openssl dgst -sha256
// -binary | base64
TEST(SelfSigned, SpkiHashIsThatOfOpenssl) {
  constexpr std::string_view kPem =
      R"(-----BEGIN CERTIFICATE-----
MIIBMjCB5aADAgECAhQ11fupNMPfdJHntqa8Cc7Z25rqEzAFBgMrZXAwDzENMAsG
A1UEAwwEc3BraTAeFw0yNjExMzAxNjExMDRaFw0yNjEyMDExNjExMDRaMA8xDTAL
BgNVBAMMBHNwa2kwKjAFBgMrZXADIQAulunPWo3CyCEB0zmun8/p5j7222bk6rAq
HKUZcPLfnaNTMFEwHQYDVR0OBBYEFMQN7TYWnpICphJ9QITnHDFwUcIBMB8GA1Ud
IwQYMBaAFMQN7TYWnpICphJ9QITnHDFwUcIBMA8GA1UdEwEB/wQFMAMBAf8wBQYD
K2VwA0EACaiQatYkNovCTk+OdlViTBqPiNevkhHIHwtbbsk95CeeZqX877TvTdpf
jBHLktPyCTfrkhIAfdX2W1VE2c4FCQ==
-----END CERTIFICATE-----
)";
  const auto hash = spki_hash(kPem);
  ASSERT_TRUE(hash) << hash.error().message;
  EXPECT_EQ(*hash, "PdL8OLHcnFbfumTmRga5KR97kwB6hQlZagExIfCr0MI=");
}

}  // namespace
}  // namespace pqedge::crypto::testing
