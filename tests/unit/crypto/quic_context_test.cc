// The QUIC context: the TLS of QUIC (RFC 9001) between two ends in memory, without any QUIC.
#include <gtest/gtest.h>
#include <openssl/core_dispatch.h>
#include <openssl/err.h>

#include <array>

#include "unit/crypto/tls_pair.h"

namespace pqedge::crypto::testing {
namespace {

// One end: CRYPTO data by protection level, as a QUIC stack would carry it.
struct End {
  SslPtr ssl;
  End* peer = nullptr;
  std::array<std::string, 4> incoming;
  uint32_t write_level = 0;
  uint32_t read_level = 0;
  int alert = -1;
  int hellos = 0;
  std::string parameters;  // OpenSSL keeps a pointer to them
  std::string peer_parameters;
  bool done = false;
  bool failed = false;

  void step() {
    ERR_clear_error();
    const int r = SSL_do_handshake(ssl.get());
    if (r == 1) done = true;
    if (r != 1 && SSL_get_error(ssl.get(), r) == SSL_ERROR_SSL) failed = true;
    if (done) SSL_read(ssl.get(), nullptr, 0);  // tickets
  }
};

int send_crypto(SSL*, const unsigned char* data, size_t size, size_t* consumed, void* arg) {
  auto* end = static_cast<End*>(arg);
  if (size > 0 && data[0] == SSL3_MT_CLIENT_HELLO) ++end->hellos;
  end->peer->incoming[end->write_level].append(reinterpret_cast<const char*>(data), size);
  *consumed = size;
  return 1;
}
int receive_crypto(SSL*, const unsigned char** data, size_t* size, void* arg) {
  auto* end = static_cast<End*>(arg);
  const std::string& waiting = end->incoming[end->read_level];
  *data = reinterpret_cast<const unsigned char*>(waiting.data());
  *size = waiting.size();
  return 1;
}
int release_crypto(SSL*, size_t size, void* arg) {
  auto* end = static_cast<End*>(arg);
  end->incoming[end->read_level].erase(0, size);
  return 1;
}
int yield_secret(SSL*, uint32_t level, int direction, const unsigned char*, size_t, void* arg) {
  auto* end = static_cast<End*>(arg);
  (direction == 1 ? end->write_level : end->read_level) = level;
  return 1;
}
int got_parameters(SSL*, const unsigned char* data, size_t size, void* arg) {
  static_cast<End*>(arg)->peer_parameters.assign(reinterpret_cast<const char*>(data), size);
  return 1;
}
int got_alert(SSL*, unsigned char code, void* arg) {
  static_cast<End*>(arg)->alert = code;
  return 1;
}

template <typename F>
void (*generic(F* f))(void) {
  return reinterpret_cast<void (*)(void)>(f);
}

void make_quic(End& end, const std::string& parameters) {
  static const OSSL_DISPATCH kCalls[] = {
      {OSSL_FUNC_SSL_QUIC_TLS_CRYPTO_SEND, generic(send_crypto)},
      {OSSL_FUNC_SSL_QUIC_TLS_CRYPTO_RECV_RCD, generic(receive_crypto)},
      {OSSL_FUNC_SSL_QUIC_TLS_CRYPTO_RELEASE_RCD, generic(release_crypto)},
      {OSSL_FUNC_SSL_QUIC_TLS_YIELD_SECRET, generic(yield_secret)},
      {OSSL_FUNC_SSL_QUIC_TLS_GOT_TRANSPORT_PARAMS, generic(got_parameters)},
      {OSSL_FUNC_SSL_QUIC_TLS_ALERT, generic(got_alert)},
      {0, nullptr},
  };
  ASSERT_EQ(SSL_set_quic_tls_cbs(end.ssl.get(), kCalls, &end), 1);
  end.parameters = parameters;
  ASSERT_EQ(SSL_set_quic_tls_transport_params(
                end.ssl.get(), reinterpret_cast<const unsigned char*>(end.parameters.data()),
                end.parameters.size()),
            1);
}

class QuicContext : public ::testing::Test {
 protected:
  void connect(const std::shared_ptr<ServerContexts>& made, const std::string& alpn,
               const std::string& groups = "", SSL_SESSION* session = nullptr) {
    client = {};
    server = {};
    facts = {};
    facts.transport = net::Transport::quic;
    state = {.facts = &facts, .alpn = &protocols};
    contexts = made;
    server.ssl.reset(SSL_new(made->quic()));
    SSL_set_accept_state(server.ssl.get());
    attach_session(server.ssl.get(), &state);
    client_context.reset(SSL_CTX_new(TLS_client_method()));
    if (!groups.empty()) SSL_CTX_set1_groups_list(client_context.get(), groups.c_str());
    SSL_CTX_set_session_cache_mode(client_context.get(),
                                   SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_set_app_data(client_context.get(), this);
    SSL_CTX_sess_set_new_cb(client_context.get(), [](SSL* ssl, SSL_SESSION* fresh) {
      auto* self = static_cast<QuicContext*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
      if (self->ticket != nullptr) SSL_SESSION_free(self->ticket);
      self->ticket = fresh;
      return 1;
    });
    client.ssl.reset(SSL_new(client_context.get()));
    SSL_set_connect_state(client.ssl.get());
    SSL_set_tlsext_host_name(client.ssl.get(), "Quic.Test");
    if (session != nullptr) SSL_set_session(client.ssl.get(), session);
    if (!alpn.empty()) {
      SSL_set_alpn_protos(client.ssl.get(), reinterpret_cast<const unsigned char*>(alpn.data()),
                          static_cast<unsigned>(alpn.size()));
    }
    client.peer = &server;
    server.peer = &client;
    make_quic(client, "client parameters");
    make_quic(server, "server parameters");
    for (int i = 0; i < 20 && !server.failed && !client.failed; ++i) {
      client.step();
      server.step();
    }
  }
  void TearDown() override {
    if (ticket != nullptr) SSL_SESSION_free(ticket);
  }

  AlpnList protocols = {"h3"};
  net::ConnectionFacts facts;
  SessionState state;
  std::shared_ptr<ServerContexts> contexts;
  SslCtxPtr client_context;
  SSL_SESSION* ticket = nullptr;
  End client;
  End server;
};

TEST_F(QuicContext, HandshakeSetsTheFacts) {
  connect(make_contexts(), "\x02h3");
  ASSERT_TRUE(server.done);
  ASSERT_TRUE(client.done);
  read_facts(server.ssl.get(), facts);
  EXPECT_EQ(facts.sni, "quic.test");
  EXPECT_EQ(facts.alpn, "h3");
  EXPECT_EQ(facts.tls_version, "TLSv1.3");
  EXPECT_EQ(facts.group, "X25519MLKEM768");
  EXPECT_TRUE(facts.post_quantum);
  EXPECT_EQ(server.peer_parameters, "client parameters");
  EXPECT_EQ(client.peer_parameters, "server parameters");
}

// K1 over QUIC.
TEST_F(QuicContext, PostQuantumIsPreferredByHelloRetryRequest) {
  connect(make_contexts(), "\x02h3", "*X25519:X25519MLKEM768");
  ASSERT_TRUE(server.done);
  EXPECT_EQ(client.hellos, 2);
  read_facts(server.ssl.get(), facts);
  EXPECT_EQ(facts.group, "X25519MLKEM768");
  EXPECT_EQ(facts.sni, "quic.test");
}

TEST_F(QuicContext, AlpnIsNeeded) {  // RFC 9001 8.1
  connect(make_contexts(), "");
  EXPECT_TRUE(server.failed);
  EXPECT_EQ(server.alert, SSL_AD_NO_APPLICATION_PROTOCOL);
  EXPECT_TRUE(handshake_failure(state, false)
                  .message.starts_with("no application protocol (ALPN) in common"));
}

TEST_F(QuicContext, ForeignAlpnIsRefused) {
  connect(make_contexts(), "\x08http/1.1");
  EXPECT_TRUE(server.failed);
  EXPECT_EQ(server.alert, SSL_AD_NO_APPLICATION_PROTOCOL);
}

TEST_F(QuicContext, Tls12InThePolicyChangesNothingHere) {  // RFC 9001 4.2
  const auto made = make_contexts({.min_version = "1.2"});
  EXPECT_EQ(SSL_CTX_get_min_proto_version(made->quic()), TLS1_3_VERSION);
  EXPECT_EQ(SSL_CTX_get_min_proto_version(made->tcp()), TLS1_2_VERSION);
  connect(made, "\x02h3");
  EXPECT_TRUE(server.done);
}

// One ring: what one context sealed, every other opens.
TEST_F(QuicContext, TicketsResumeOnAnotherContext) {
  const auto ring = TicketKeyRing::create(3600 * kSecond);
  connect(make_contexts({}, nullptr, ring), "\x02h3");
  ASSERT_TRUE(server.done);
  ASSERT_NE(ticket, nullptr);
  SSL_set_shutdown(client.ssl.get(), SSL_SENT_SHUTDOWN);
  SSL_SESSION* session = std::exchange(ticket, nullptr);
  connect(make_contexts({}, nullptr, ring), "\x02h3", "", session);
  SSL_SESSION_free(session);
  ASSERT_TRUE(server.done);
  read_facts(server.ssl.get(), facts);
  EXPECT_TRUE(facts.resumed);
  EXPECT_EQ(facts.group, "X25519MLKEM768");
}

}  // namespace
}  // namespace pqedge::crypto::testing
