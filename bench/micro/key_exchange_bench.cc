// What a key exchange costs by OpenSSL's own code and by pqedge-fast.so, and what the server's side
// of a whole TLS 1.3 handshake costs with each: CPU time of this thread.
//
//   PQEDGE_FAST=build/pqedge-fast.so build/bench_key_exchange
//
// Without the module (make fast-crypto) only OpenSSL's own code is measured.
#include <benchmark/benchmark.h>
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "crypto/fast_provider.h"
#include "crypto/handles.h"

namespace {

using namespace pqedge::crypto;

using ContextPtr = std::unique_ptr<EVP_PKEY_CTX, FreeWith<EVP_PKEY_CTX_free>>;

void need(bool good) {
  if (good) return;
  ERR_print_errors_fp(stderr);
  std::abort();
}

KeyPtr generate(const char* name, const char* properties) {
  const ContextPtr context(EVP_PKEY_CTX_new_from_name(nullptr, name, properties));
  EVP_PKEY* key = nullptr;
  need(context != nullptr && EVP_PKEY_keygen_init(context.get()) == 1 &&
       EVP_PKEY_generate(context.get(), &key) == 1);
  return KeyPtr(key);
}

void keygen(benchmark::State& state, const char* name, const char* properties) {
  for (auto _ : state) benchmark::DoNotOptimize(generate(name, properties));
}

void encapsulate(benchmark::State& state, const char* name, const char* properties) {
  const KeyPtr key = generate(name, properties);
  std::vector<uint8_t> out(4096);
  std::vector<uint8_t> secret(128);
  for (auto _ : state) {
    const ContextPtr context(EVP_PKEY_CTX_new_from_pkey(nullptr, key.get(), properties));
    size_t out_size = out.size();
    size_t secret_size = secret.size();
    need(EVP_PKEY_encapsulate_init(context.get(), nullptr) == 1 &&
         EVP_PKEY_encapsulate(context.get(), out.data(), &out_size, secret.data(), &secret_size) ==
             1);
  }
}

void decapsulate(benchmark::State& state, const char* name, const char* properties) {
  const KeyPtr key = generate(name, properties);
  std::vector<uint8_t> out(4096);
  std::vector<uint8_t> secret(128);
  size_t out_size = out.size();
  size_t secret_size = secret.size();
  const ContextPtr sender(EVP_PKEY_CTX_new_from_pkey(nullptr, key.get(), properties));
  need(EVP_PKEY_encapsulate_init(sender.get(), nullptr) == 1 &&
       EVP_PKEY_encapsulate(sender.get(), out.data(), &out_size, secret.data(), &secret_size) == 1);
  for (auto _ : state) {
    const ContextPtr context(EVP_PKEY_CTX_new_from_pkey(nullptr, key.get(), properties));
    size_t size = secret.size();
    need(EVP_PKEY_decapsulate_init(context.get(), nullptr) == 1 &&
         EVP_PKEY_decapsulate(context.get(), secret.data(), &size, out.data(), out_size) == 1);
  }
}

void derive(benchmark::State& state, const char* name, const char* properties) {
  const KeyPtr ours = generate(name, properties);
  const KeyPtr peer = generate(name, properties);
  uint8_t secret[64];
  for (auto _ : state) {
    const ContextPtr context(EVP_PKEY_CTX_new_from_pkey(nullptr, ours.get(), properties));
    size_t size = sizeof secret;
    need(EVP_PKEY_derive_init(context.get()) == 1 &&
         EVP_PKEY_derive_set_peer(context.get(), peer.get()) == 1 &&
         EVP_PKEY_derive(context.get(), secret, &size) == 1);
  }
}

// One secret of TLS 1.3's key schedule, as libssl asks for it: a context each time.
void expand_label(benchmark::State& state, const char* hash, size_t size, const char* properties) {
  std::vector<uint8_t> secret(size, 1);
  std::vector<uint8_t> transcript(size, 2);
  int mode = EVP_KDF_HKDF_MODE_EXPAND_ONLY;
  const auto text = [](const char* key, const char* value) {
    return OSSL_PARAM_construct_octet_string(key, const_cast<char*>(value), strlen(value));
  };
  const OSSL_PARAM params[] = {
      OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode),
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, const_cast<char*>(hash), 0),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, secret.data(), size),
      text(OSSL_KDF_PARAM_PREFIX, "tls13 "),
      text(OSSL_KDF_PARAM_LABEL, "c hs traffic"),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_DATA, transcript.data(), size),
      OSSL_PARAM_construct_end()};
  for (auto _ : state) {
    const std::unique_ptr<EVP_KDF, FreeWith<EVP_KDF_free>> kdf(
        EVP_KDF_fetch(nullptr, OSSL_KDF_NAME_TLS1_3_KDF, properties));
    const std::unique_ptr<EVP_KDF_CTX, FreeWith<EVP_KDF_CTX_free>> context(
        EVP_KDF_CTX_new(kdf.get()));
    uint8_t out[64];
    need(EVP_KDF_derive(context.get(), out, size, params) == 1);
  }
}

// ---- handshakes --------------------------------------------------------------------------------

struct Identity {
  KeyPtr key;
  X509Ptr certificate;
};

Identity make_identity(const char* type) {
  Identity id;
  const bool ec = std::string_view(type) == "P-256";
  id.key = ec ? KeyPtr(EVP_EC_gen(type)) : generate(type, nullptr);
  id.certificate.reset(X509_new());
  X509* c = id.certificate.get();
  X509_set_version(c, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(c), 1);
  X509_gmtime_adj(X509_getm_notBefore(c), -3600);
  X509_gmtime_adj(X509_getm_notAfter(c), 86400);
  X509_NAME* name = X509_get_subject_name(c);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("bench.test"), -1, -1, 0);
  X509_set_issuer_name(c, name);
  X509_set_pubkey(c, id.key.get());
  need(X509_sign(c, id.key.get(), ec ? EVP_sha256() : nullptr) > 0);
  return id;
}

double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// One handshake between two ends in memory; the server's own time. `session`: resumes it.
double handshake(SSL_CTX* server_context, SSL_CTX* client_context, SSL_SESSION* session) {
  BIO* inside = nullptr;
  BIO* outside = nullptr;
  need(BIO_new_bio_pair(&inside, 65536, &outside, 65536) == 1);
  double spent = 0;
  double began = thread_seconds();
  const SslPtr server(SSL_new(server_context));
  SSL_set_bio(server.get(), inside, inside);
  SSL_set_accept_state(server.get());
  spent += thread_seconds() - began;
  const SslPtr client(SSL_new(client_context));
  SSL_set_bio(client.get(), outside, outside);
  SSL_set_connect_state(client.get());
  if (session != nullptr) SSL_set_session(client.get(), session);
  bool served = false;
  for (int turn = 0; turn < 10 && !served; ++turn) {
    SSL_do_handshake(client.get());
    began = thread_seconds();
    served = SSL_do_handshake(server.get()) == 1;
    spent += thread_seconds() - began;
    ERR_clear_error();
  }
  need(served && (session == nullptr || SSL_session_reused(server.get()) == 1));
  return spent;
}

SSL_SESSION* kept_session = nullptr;

SslCtxPtr server_context(const Identity& id, const char* group, const char* properties) {
  SslCtxPtr context(SSL_CTX_new_ex(nullptr, properties, TLS_server_method()));
  SSL_CTX* c = context.get();
  SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
  need(SSL_CTX_set1_groups_list(c, group) == 1 && SSL_CTX_set_num_tickets(c, 1) == 1 &&
       SSL_CTX_set_session_id_context(c, reinterpret_cast<const unsigned char*>("b"), 1) == 1 &&
       SSL_CTX_use_cert_and_key(c, id.certificate.get(), id.key.get(), nullptr, 1) == 1);
  return context;
}

// The client is OpenSSL's own in both cases, and its time is not counted.
SslCtxPtr client_context(const char* group) {
  SslCtxPtr context(SSL_CTX_new(TLS_client_method()));
  need(SSL_CTX_set1_groups_list(context.get(), group) == 1);
  return context;
}

void full(benchmark::State& state, const char* group, const char* type, const char* properties) {
  const Identity id = make_identity(type);
  const SslCtxPtr server = server_context(id, group, properties);
  const SslCtxPtr client = client_context(group);
  for (auto _ : state) state.SetIterationTime(handshake(server.get(), client.get(), nullptr));
}

// A context a handshake, as a program that makes one a connection does.
void full_with_new_context(benchmark::State& state, const char* group, const char* properties) {
  const Identity id = make_identity("P-256");
  const SslCtxPtr client = client_context(group);
  for (auto _ : state) {
    const double began = thread_seconds();
    const SslCtxPtr server = server_context(id, group, properties);
    const double made = thread_seconds() - began;
    state.SetIterationTime(made + handshake(server.get(), client.get(), nullptr));
  }
}

void resumed(benchmark::State& state, const char* group, const char* properties) {
  const Identity id = make_identity("P-256");
  const SslCtxPtr server = server_context(id, group, properties);
  const SslCtxPtr client = client_context(group);
  SSL_CTX_set_session_cache_mode(client.get(), SSL_SESS_CACHE_CLIENT);
  SSL_CTX_sess_set_new_cb(client.get(), [](SSL*, SSL_SESSION* session) {
    SSL_SESSION_free(kept_session);
    kept_session = session;
    return 1;
  });
  // A ticket comes after the handshake: the client has to read once more.
  BIO* inside = nullptr;
  BIO* outside = nullptr;
  need(BIO_new_bio_pair(&inside, 65536, &outside, 65536) == 1);
  const SslPtr s(SSL_new(server.get()));
  const SslPtr c(SSL_new(client.get()));
  SSL_set_bio(s.get(), inside, inside);
  SSL_set_bio(c.get(), outside, outside);
  SSL_set_accept_state(s.get());
  SSL_set_connect_state(c.get());
  for (int turn = 0; turn < 10; ++turn) {
    SSL_do_handshake(c.get());
    SSL_do_handshake(s.get());
  }
  char none = 0;
  SSL_read(c.get(), &none, 1);
  ERR_clear_error();
  need(kept_session != nullptr);
  SSL_SESSION* ticket = std::exchange(kept_session, nullptr);
  for (auto _ : state) {
    // OpenSSL lets a client use a session once (RFC 8446 C.4): a copy each time.
    const std::unique_ptr<SSL_SESSION, FreeWith<SSL_SESSION_free>> copy(SSL_SESSION_dup(ticket));
    state.SetIterationTime(handshake(server.get(), client.get(), copy.get()));
  }
  SSL_SESSION_free(ticket);
}

// ---- which are run -----------------------------------------------------------------------------

template <typename... Arguments>
benchmark::internal::Benchmark* add(const std::string& name, Arguments... arguments) {
  return benchmark::RegisterBenchmark(name.c_str(), arguments...);
}

void add_all(const std::string& who, const char* properties) {
  const std::string hybrid = "X25519MLKEM768";
  for (const char* kem : {"ML-KEM-512", "ML-KEM-768", "ML-KEM-1024", "X25519MLKEM768"}) {
    const std::string name = who + "/" + kem;
    add(name + "/keygen", keygen, kem, properties);
    add(name + "/encapsulate", encapsulate, kem, properties);
    add(name + "/decapsulate", decapsulate, kem, properties);
  }
  add(who + "/X25519/keygen", keygen, "X25519", properties);
  add(who + "/X25519/derive", derive, "X25519", properties);
  add(who + "/secret/SHA-256", expand_label, "SHA2-256", 32, properties);
  add(who + "/secret/SHA-384", expand_label, "SHA2-384", 48, properties);
  const std::string handshakes = who + "/handshake/";
  for (const char* group : {"X25519", "X25519MLKEM768", "MLKEM768", "SecP256r1MLKEM768", "P-256"}) {
    add(handshakes + group + "/P-256", full, group, "P-256", properties)->UseManualTime();
  }
  add(handshakes + hybrid + "/ML-DSA-65", full, "X25519MLKEM768", "ML-DSA-65", properties)
      ->UseManualTime();
  add(handshakes + hybrid + "/resumed", resumed, "X25519MLKEM768", properties)->UseManualTime();
  add(handshakes + hybrid + "/a context each", full_with_new_context, "X25519MLKEM768", properties)
      ->UseManualTime();
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  add_all("openssl", nullptr);
  const char* named = std::getenv("PQEDGE_FAST");
  const std::string path = named != nullptr ? named : find_fast_provider();
  if (path.empty()) {
    std::fprintf(stderr, "pqedge-fast.so is not there: make fast-crypto\n");
  } else {
    const auto version = load_fast_provider(path);
    const auto right = check_fast_provider();
    if (!version || !right) {
      std::fprintf(stderr, "%s\n", (version ? right.error() : version.error()).message.c_str());
      return 1;
    }
    add_all("fast", kFastProperties);
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
