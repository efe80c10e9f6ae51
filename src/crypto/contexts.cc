// One policy, two contexts.
#include <openssl/err.h>

#include <array>

#include "crypto/callbacks.h"
#include "crypto/certificate_extras.h"
#include "crypto/early_data.h"
#include "crypto/ech.h"
#include "crypto/host_policy.h"
#include "crypto/providers.h"
#include "crypto/ticket_cipher.h"

namespace pqedge::crypto {
namespace {

// Refused or switched off for everyone. Certificates are sent as they are unless that is configured
// (certificate_extras.h), and what a peer compressed is not unpacked here (RFC 8879 5).
constexpr uint64_t kOptions = SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                              SSL_OP_NO_RX_CERTIFICATE_COMPRESSION |
                              SSL_OP_NO_TX_CERTIFICATE_COMPRESSION |
                              SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA;

// An idle connection keeps no buffers; our writes come from a queue that moves.
constexpr long kModes =
    SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER;

// For TLS 1.2, where it is allowed: forward secrecy and AEAD only (RFC 9325 4.2).
constexpr const char* kTls12Ciphers = "ECDHE+AESGCM:ECDHE+CHACHA20";

class Contexts final : public ServerContexts {
 public:
  explicit Contexts(Policy policy) : policy_(std::move(policy)) {}
  Result<void> build();

  SSL_CTX* tcp() const override { return tcp_.get(); }
  SSL_CTX* quic() const override { return quic_.get(); }
  const TlsSettings& settings() const override { return policy_.settings; }
  void set_certificates(std::shared_ptr<const CertificateStore> store) override;

 private:
  Result<SslCtxPtr> make(bool quic);

  Policy policy_;  // before the contexts, which point to it
  SslCtxPtr tcp_;
  SslCtxPtr quic_;
};

// Which tickets there are is the policy's; how long they last, the configuration's.
void set_ticket_times(SSL_CTX* context, const TlsSettings& settings) {
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_timeout(context, static_cast<long>(settings.ticket_lifetime / kSecond));
}

Result<SslCtxPtr> Contexts::make(bool quic) {
  clear_errors();
  SslCtxPtr context(SSL_CTX_new_ex(nullptr, tls_properties(), TLS_server_method()));
  SSL_CTX* c = context.get();
  const bool ok = c != nullptr && SSL_CTX_set_max_proto_version(c, TLS1_3_VERSION) == 1 &&
                  SSL_CTX_set_cipher_list(c, kTls12Ciphers) == 1 &&
                  apply_policy(c, policy_.policies->base(), quic);
  if (!ok) return fail("tls: the policy cannot be set up: {}", take_openssl_error());
  set_ticket_times(c, policy_.settings);
  SSL_CTX_set_options(c, kOptions);
  SSL_CTX_set_mode(c, kModes);
  if (!quic) SSL_CTX_set_read_ahead(c, 1);
  install_callbacks(c, policy_, quic);
  if (auto extras = install_certificate_extras(c, policy_.settings); !extras) {
    return std::unexpected(extras.error());
  }
  if (!set_early_data(c, policy_, quic)) {
    return fail("tls.early_data: cannot be set up: {}", take_openssl_error());
  }
  const TlsSettings& settings = policy_.settings;
  if (auto ech = install_ech(c, settings.ech, settings.strict_key_files); !ech) {
    return std::unexpected(ech.error());
  }
  if (const CertificateRef& first = policy_.store->find({}); first != nullptr) {
    if (auto set = set_default_certificate(c, *first); !set) return std::unexpected(set.error());
  }
  return context;
}

Result<void> Contexts::build() {
  clear_errors();
  if (policy_.settings.session_tickets && ticket_cipher() == nullptr) {
    return fail("tls: session tickets cannot be sealed with AES-256-GCM: {}", take_openssl_error());
  }
  auto tcp = make(false);
  if (!tcp) return std::unexpected(tcp.error());
  auto quic = make(true);
  if (!quic) return std::unexpected(quic.error());
  tcp_ = std::move(*tcp);
  quic_ = std::move(*quic);
  return {};
}

// Only the default that a context holds is looked at by OpenSSL itself: it follows where it has the
// same kind of key, and so takes its predecessor's place. Where it cannot, on_certificate() puts
// the right one on each SSL.
void Contexts::set_certificates(std::shared_ptr<const CertificateStore> store) {
  const CertificateRef& now = store->find({});
  const CertificateRef& before = policy_.store->find({});
  if (now != nullptr && before != nullptr && now->leaf.get() != before->leaf.get() &&
      EVP_PKEY_is_a(now->key.get(), EVP_PKEY_get0_type_name(before->key.get())) == 1) {
    for (SSL_CTX* context : {tcp_.get(), quic_.get()}) {
      if (SSL_CTX_get0_certificate(context) != before->leaf.get()) continue;
      [[maybe_unused]] const auto set = set_default_certificate(context, *now);
    }
  }
  policy_.store = std::move(store);
}

}  // namespace

Result<std::shared_ptr<ServerContexts>> ServerContexts::create(
    const TlsSettings& settings, std::shared_ptr<const CertificateStore> store,
    std::shared_ptr<TicketKeyRing> tickets, std::shared_ptr<const KeyLog> keylog,
    std::shared_ptr<const PolicySet> policies, HandshakeServices services) {
  for (const Problem& problem : validate(settings)) {
    if (!problem.warning) return fail("{}", to_text(problem));
  }
  if (policies == nullptr) {
    auto loaded = PolicySet::load(settings, {});
    if (!loaded) return std::unexpected(loaded.error());
    policies = std::move(*loaded);
  }
  auto contexts = std::make_shared<Contexts>(Policy{settings, std::move(store), std::move(tickets),
                                                    std::move(keylog), std::move(services),
                                                    std::move(policies)});
  if (auto built = contexts->build(); !built) return std::unexpected(built.error());
  return contexts;
}

}  // namespace pqedge::crypto
