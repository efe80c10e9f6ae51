// Handshakes against OpenSSL's client: versions, groups, names, protocols, failures.
#include <gtest/gtest.h>

#include "base/counters.h"
#include "unit/crypto/tls_pair.h"

namespace pqedge::crypto::testing {
namespace {

uint64_t failures(std::string_view reason) {
  return counters::Counter("pqedge_tls_handshake_failures_total", "",
                           {{"reason", std::string(reason)}})
      .value();
}

TEST(Handshake, FactsAreComplete) {
  Pair pair(make_contexts(), {.server_name = "example.test", .alpn = {"h2", "http/1.1"}});
  ASSERT_TRUE(pair.handshake()) << pair.client->failure();
  const net::ConnectionFacts& facts = pair.server->facts;
  EXPECT_EQ(facts.transport, net::Transport::tls);
  EXPECT_EQ(facts.tls_version, "TLSv1.3");
  EXPECT_EQ(facts.group, "X25519MLKEM768");
  EXPECT_EQ(facts.cipher, "TLS_AES_256_GCM_SHA384");
  EXPECT_EQ(facts.alpn, "h2");
  EXPECT_EQ(facts.sni, "example.test");
  EXPECT_TRUE(facts.post_quantum);
  EXPECT_FALSE(facts.resumed);
  EXPECT_EQ(pair.client->alpn(), "h2");
}

// K1: a client that sends an X25519 share and only lists the hybrid is asked again.
TEST(Handshake, PostQuantumIsPreferredByHelloRetryRequest) {
  Pair pair(make_contexts(), {.groups = "*X25519:X25519MLKEM768"});
  ASSERT_TRUE(pair.handshake()) << pair.client->failure();
  EXPECT_EQ(pair.client->client_hellos, 2);
  EXPECT_EQ(pair.client->group(), "X25519MLKEM768");
  EXPECT_EQ(pair.server->facts.group, "X25519MLKEM768");
}

TEST(Handshake, AnyHybridShareInHandIsTaken) {
  Pair pair(make_contexts(), {.groups = "*SecP256r1MLKEM768:X25519MLKEM768:X25519"});
  ASSERT_TRUE(pair.handshake());
  EXPECT_EQ(pair.client->client_hellos, 1);
  EXPECT_EQ(pair.server->facts.group, "SecP256r1MLKEM768");
}

TEST(Handshake, ClassicalClientIsServedByCompatible) {
  const counters::Counter classical("pqedge_tls_classical_handshakes_total", "",
                                    {{"client", "classical_only"}});
  const uint64_t before = classical.value();
  Pair pair(make_contexts(), {.groups = "X25519:P-256"});
  ASSERT_TRUE(pair.handshake());
  EXPECT_EQ(pair.server->facts.group, "X25519");
  EXPECT_FALSE(pair.server->facts.post_quantum);
  EXPECT_EQ(classical.value(), before + 1);
}

TEST(Handshake, ClassicalClientIsRefusedByHybridRequired) {
  const uint64_t before = failures("no_shared_group");
  Pair pair(make_contexts({.groups = {"hybrid-required"}}), {.groups = "X25519:P-256"});
  EXPECT_FALSE(pair.handshake());
  EXPECT_TRUE(pair.server->handshake_error.starts_with("no key-exchange group in common"))
      << pair.server->handshake_error;
  pair.settle();
  EXPECT_TRUE(pair.client->failed());
  EXPECT_NE(pair.client->failure().find("handshake failure"), std::string::npos);
  EXPECT_EQ(failures("no_shared_group"), before + 1);
}

TEST(Handshake, Cnsa2UsesItsCipherAndGroup) {
  const auto store = store_of(make_identity({.dns = {"example.test"}, .key_type = "P-384"}));
  Pair pair(make_contexts({.groups = {"cnsa2"}}, store),
            {.groups = "X25519MLKEM768:SecP384r1MLKEM1024"});
  ASSERT_TRUE(pair.handshake());
  EXPECT_EQ(pair.server->facts.group, "SecP384r1MLKEM1024");
  EXPECT_EQ(pair.server->facts.cipher, "TLS_AES_256_GCM_SHA384");
}

TEST(Handshake, Cnsa2SignsWithNothingWeaker) {
  Pair pair(make_contexts({.groups = {"cnsa2"}}), {.groups = "SecP384r1MLKEM1024"});  // a P-256 key
  EXPECT_FALSE(pair.handshake());
  EXPECT_TRUE(pair.server->handshake_error.starts_with("the client can verify no signature"))
      << pair.server->handshake_error;
}

TEST(Handshake, PureMlKemCanBeConfigured) {
  Pair pair(make_contexts({.groups = {"ML-KEM-1024", "MLKEM768"}}), {.groups = "MLKEM768"});
  ASSERT_TRUE(pair.handshake());
  EXPECT_EQ(pair.server->facts.group, "MLKEM768");
  EXPECT_TRUE(pair.server->facts.post_quantum);
}

TEST(Handshake, Tls12ClientIsRefused) {
  const uint64_t before = failures("unsupported_version");
  Pair pair(make_contexts(), {.max_version = TLS1_2_VERSION});
  EXPECT_FALSE(pair.handshake());
  pair.settle();
  EXPECT_NE(pair.client->failure().find("protocol version"), std::string::npos)
      << pair.client->failure();
  EXPECT_EQ(failures("unsupported_version"), before + 1);
}

TEST(Handshake, Tls12ClientIsServedWhereConfigured) {
  Pair pair(make_contexts({.min_version = "1.2"}), {.max_version = TLS1_2_VERSION});
  ASSERT_TRUE(pair.handshake()) << pair.client->failure();
  EXPECT_EQ(pair.server->facts.tls_version, "TLSv1.2");
  EXPECT_EQ(pair.server->facts.group, "X25519");
  EXPECT_TRUE(pair.server->facts.cipher.starts_with("TLS_ECDHE_ECDSA_WITH_AES_256_GCM"));
  pair.client->write("ping");
  EXPECT_TRUE(pair.run([&] { return pair.server->received == "ping"; }));
}

// ---- names -------------------------------------------------------------------------------------

TEST(Handshake, CertificateIsChosenByServerName) {
  const TemporaryDirectory files;
  std::vector<CertificateSettings> settings;
  const auto add = [&](const std::string& cn, const std::vector<std::string>& dns,
                       const std::string& type) {
    const Identity id = make_identity({.dns = dns, .common_name = cn, .key_type = type});
    settings.push_back({.chain_file = files.write(cn + ".pem", id.chain_pem),
                        .key_file = files.write(cn + ".key", id.key_pem)});
  };
  add("first", {"first.test"}, "P-256");
  add("exact", {"a.wild.test"}, "RSA");
  add("wildcard", {"*.wild.test"}, "ED25519");
  settings.front().is_default = true;
  auto store = CertificateStore::load(settings);
  ASSERT_TRUE(store) << store.error().message;
  const auto contexts = make_contexts({}, *store);

  const auto served = [&](const std::string& name) {
    Pair pair(contexts, {.server_name = name});
    return pair.handshake() ? pair.client->peer_common_name() : pair.server->handshake_error;
  };
  EXPECT_EQ(served("first.test"), "first");
  EXPECT_EQ(served("a.wild.test"), "exact");
  EXPECT_EQ(served("A.WiLD.tEST"), "exact");
  EXPECT_EQ(served("b.wild.test"), "wildcard");
  EXPECT_EQ(served("b.c.wild.test"), "first");
  EXPECT_EQ(served("wild.test"), "first");
  EXPECT_EQ(served("elsewhere.test"), "first");
  EXPECT_EQ(served(""), "first");
}

TEST(Handshake, ServerNameIsLowerCase) {
  Pair pair(make_contexts(), {.server_name = "ExAmPlE.Test."});
  ASSERT_TRUE(pair.handshake());
  EXPECT_EQ(pair.server->facts.sni, "example.test");
}

// RFC 6066 3 forbids IP literals, but clients that send one exist: as if there was no name.
TEST(Handshake, IpLiteralNamesNothing) {
  Pair pair(make_contexts(), {.server_name = "127.0.0.1"});
  ASSERT_TRUE(pair.handshake());
  EXPECT_EQ(pair.server->facts.sni, "");
}

TEST(Handshake, ImpossibleServerNameIsRefused) {
  const uint64_t before = failures("bad_server_name");
  for (const char* name : {"a b.test", "a..test", ".test", "t\xc3\xa9st", "a/b", "*.test"}) {
    Pair pair(make_contexts(), {.server_name = name});
    EXPECT_FALSE(pair.handshake()) << name;
    pair.settle();
    EXPECT_NE(pair.client->failure().find("illegal parameter"), std::string::npos)
        << pair.client->failure();
  }
  EXPECT_EQ(failures("bad_server_name"), before + 6);
}

// ---- protocols (RFC 7301) ----------------------------------------------------------------------

TEST(Handshake, OurPreferenceAmongTheOfferedProtocols) {
  Pair pair(make_contexts(), {.alpn = {"http/1.1", "foo", "h2"}}, {"h2", "http/1.1"});
  ASSERT_TRUE(pair.handshake());
  EXPECT_EQ(pair.server->facts.alpn, "h2");
}

TEST(Handshake, NoCommonProtocolIsAFatalAlert) {
  const uint64_t before = failures("no_application_protocol");
  Pair pair(make_contexts(), {.alpn = {"spdy/3"}});
  EXPECT_FALSE(pair.handshake());
  pair.settle();
  EXPECT_NE(pair.client->failure().find("no application protocol"), std::string::npos)
      << pair.client->failure();
  EXPECT_EQ(failures("no_application_protocol"), before + 1);
}

TEST(Handshake, ClientWithoutAlpnSpeaksHttp11) {
  Pair pair(make_contexts(), {.alpn = {}});
  ASSERT_TRUE(pair.handshake());
  EXPECT_EQ(pair.server->facts.alpn, "http/1.1");
  Pair no_http1(make_contexts(), {.alpn = {}}, {"h2"});
  EXPECT_FALSE(no_http1.handshake());
}

// ---- certificates ------------------------------------------------------------------------------

class KeyTypes : public ::testing::TestWithParam<const char*> {};

TEST_P(KeyTypes, AreServed) {
  const Identity id =
      make_identity({.dns = {"example.test"}, .common_name = "leaf", .key_type = GetParam()});
  Pair pair(make_contexts({}, store_of(id)), {.server_name = "example.test"});
  ASSERT_TRUE(pair.handshake()) << pair.client->failure() << pair.server->handshake_error;
  EXPECT_EQ(pair.client->peer_common_name(), "leaf");
}
INSTANTIATE_TEST_SUITE_P(OpenSsl35, KeyTypes,
                         ::testing::Values("P-256", "P-384", "RSA", "ED25519", "ED448", "ML-DSA-44",
                                           "ML-DSA-65", "ML-DSA-87"),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(Handshake, ClientThatCannotVerifyTheKeyIsToldSo) {
  const uint64_t before = failures("no_shared_signature");
  const Identity id = make_identity({.dns = {"example.test"}, .key_type = "ML-DSA-65"});
  Pair pair(make_contexts({}, store_of(id)), {.signature_algorithms = "rsa_pss_rsae_sha256"});
  EXPECT_FALSE(pair.handshake());
  EXPECT_EQ(failures("no_shared_signature"), before + 1) << pair.server->handshake_error;
}

// ---- bad input ---------------------------------------------------------------------------------

// K2, tldr.fail: the hello is put together first, however it was cut.
std::string reframed(std::string records, size_t piece) {
  std::string out;
  for (size_t at = 0; at + 5 <= records.size();) {
    const size_t n = load_be16(reinterpret_cast<const uint8_t*>(records.data()) + at + 3);
    const std::string body = records.substr(at + 5, n);
    if (records[at] != SSL3_RT_HANDSHAKE) {
      out += records.substr(at, 5 + n);
    } else {
      for (size_t i = 0; i < body.size(); i += piece) {
        const std::string part = body.substr(i, piece);
        out += {'\x16', '\x03', '\x01', static_cast<char>(part.size() >> 8),
                static_cast<char>(part.size() & 0xff)};
        out += part;
      }
    }
    at += 5 + n;
  }
  return out;
}

class Fragmented : public ::testing::TestWithParam<size_t> {};

TEST_P(Fragmented, HelloIsReadWhole) {
  Pair pair(make_contexts(), {.server_name = "example.test"});
  pair.client->rewrite = [](std::string s) { return reframed(std::move(s), GetParam()); };
  ASSERT_TRUE(pair.handshake()) << pair.server->handshake_error << pair.client->failure();
  EXPECT_EQ(pair.server->facts.sni, "example.test");
  EXPECT_EQ(pair.server->facts.group, "X25519MLKEM768");
}
INSTANTIATE_TEST_SUITE_P(Records, Fragmented, ::testing::Values(1, 2, 5, 40, 600, 1300));

TEST(Handshake, HelloArrivesByteByByte) {
  Pair pair(make_contexts(), {.server_name = "example.test"});
  std::string held;
  pair.client->rewrite = [&held](std::string s) {
    held += s;
    return std::string();
  };
  pair.client->step();
  ASSERT_GT(held.size(), 1400u);
  pair.client->rewrite = nullptr;
  for (const char c : held) {
    ASSERT_EQ(send(pair.client->fd(), &c, 1, 0), 1);
    pair.loop->run_once(0);
  }
  ASSERT_TRUE(pair.handshake());
  EXPECT_EQ(pair.server->facts.sni, "example.test");
}

TEST(Handshake, ClientVanishesMidHandshake) {
  const uint64_t before = failures("client_closed");
  Pair pair(make_contexts());
  pair.client->rewrite = [](std::string s) { return s.substr(0, s.size() / 2); };
  pair.client->step();
  pair.loop->run_once(0);
  EXPECT_EQ(pair.server->handshake_error, "");
  pair.client->socket().reset();
  ASSERT_TRUE(pair.run([&] { return !pair.server->handshake_error.empty(); }, false));
  EXPECT_EQ(failures("client_closed"), before + 1);
}

TEST(Handshake, ClientVanishesBeforeItsFinished) {
  Pair pair(make_contexts());
  pair.client->step();
  pair.loop->run_once(0);
  pair.client->socket().reset();
  ASSERT_TRUE(pair.run([&] { return !pair.server->handshake_error.empty(); }, false));
}

TEST(Handshake, ConnectionWithoutAByte) {
  Pair pair(make_contexts());
  pair.loop->run_once(0);
  pair.client->socket().reset();
  ASSERT_TRUE(pair.run([&] { return !pair.server->handshake_error.empty(); }, false));
}

std::string answer_to(std::string_view raw, std::string& error) {
  Pair pair(make_contexts());
  pair.client->rewrite = [raw](std::string) { return std::string(raw); };
  pair.client->send_out();
  EXPECT_EQ(send(pair.client->fd(), raw.data(), raw.size(), 0), static_cast<ssize_t>(raw.size()));
  EXPECT_TRUE(pair.run([&] { return !pair.server->handshake_error.empty(); }, false));
  error = pair.server->handshake_error;
  char buffer[4096];
  const ssize_t n = recv(pair.client->fd(), buffer, sizeof buffer, 0);
  return n > 0 ? std::string(buffer, static_cast<size_t>(n)) : std::string();
}

TEST(Handshake, PlainHttpGetsAPlainAnswer) {
  const uint64_t before = failures("plain_http");
  std::string error;
  const std::string answer = answer_to("GET / HTTP/1.1\r\nHost: a\r\n\r\n", error);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << answer;
  const size_t head = answer.find("\r\n\r\n");
  ASSERT_NE(head, std::string::npos);
  EXPECT_NE(answer.find("Content-Length: " + std::to_string(answer.size() - head - 4) + "\r\n"),
            std::string::npos);
  EXPECT_EQ(failures("plain_http"), before + 1);
}

TEST(Handshake, GarbageIsRefused) {
  std::string error;
  answer_to("SSH-2.0-OpenSSH_10.0\r\n", error);
  EXPECT_TRUE(error.starts_with("the client does not speak TLS")) << error;
  // An SSLv2 hello that offers up to TLS 1.2: nothing of it is looked at.
  const std::string v2(
      "\x80\x2e\x01\x03\x01\x00\x15\x00\x00\x00\x10\x00\x00\x2f\x00\x00\x35\x00\x00"
      "\x05\x00\x00\x0a\x01\x00\x80\x00\x00\x09\x06\x00\x40"
      "0123456789abcdef",
      48);
  answer_to(v2, error);
  EXPECT_FALSE(error.empty());
}

TEST(Handshake, MalformedHelloIsADecodeError) {
  const uint64_t before = failures("bad_hello");
  Pair pair(make_contexts(), {.server_name = "example.test"});
  pair.client->rewrite = [](std::string s) {
    // The length of the name in the server_name extension, one too long (RFC 6066 3).
    const size_t at = s.find("example.test");
    ++s[at - 1];
    return s;
  };
  EXPECT_FALSE(pair.handshake());
  pair.settle();
  EXPECT_NE(pair.client->failure().find("decode error"), std::string::npos)
      << pair.client->failure();
  EXPECT_EQ(failures("bad_hello"), before + 1);
}

TEST(Handshake, SettingsThatCannotBeAreNamed) {
  const auto error = [](const TlsSettings& settings) {
    auto made = ServerContexts::create(settings, store_of(test_identity()),
                                       TicketKeyRing::create(settings.ticket_lifetime));
    return made ? std::string() : made.error().message;
  };
  EXPECT_EQ(error({.groups = {"X25519MLKEM786"}}),
            "tls.groups: \"X25519MLKEM786\" is not a group or preset that is known here; did you "
            "mean \"X25519MLKEM768\"?");
  const std::string of_openssl4 = error({.groups = {"curveSM2MLKEM768"}});
  EXPECT_EQ(of_openssl4.substr(0, 60),
            OPENSSL_VERSION_MAJOR >= 4
                ? ""
                : "tls.groups: \"curveSM2MLKEM768\" is not in the TLS library in ");
  EXPECT_EQ(error({.min_version = "1.1"}).substr(0, 18), "tls.min_version: \"");
}

}  // namespace
}  // namespace pqedge::crypto::testing
