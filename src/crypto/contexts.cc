// One policy, two contexts.
#include <openssl/err.h>

#include <array>

#include "crypto/callbacks.h"
#include "crypto/groups.h"
#include "crypto/policy.h"
#include "crypto/ticket_cipher.h"

namespace pqedge::crypto {
namespace {

// Refused or switched off for everyone. Certificates are sent as they are: keys and signatures do
// not shrink, and what a peer compressed is not unpacked here (RFC 8879 5).
constexpr uint64_t kOptions = SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                              SSL_OP_NO_RX_CERTIFICATE_COMPRESSION |
                              SSL_OP_NO_TX_CERTIFICATE_COMPRESSION |
                              SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA;

// An idle connection keeps no buffers; our writes come from a queue that moves.
constexpr long kModes =
    SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER;

// For TLS 1.2, where it is allowed: forward secrecy and AEAD only (RFC 9325 4.2).
constexpr const char* kTls12Ciphers = "ECDHE+AESGCM:ECDHE+CHACHA20";

// One: a client of HTTP/2 or 3 opens one connection and gets a new ticket with each resumption; a
// second would cost every full handshake another sealing and 250 bytes.
constexpr size_t kTickets = 1;

class Contexts final : public ServerContexts {
 public:
  explicit Contexts(Policy policy) : policy_(std::move(policy)) {}
  Result<void> build();

  SSL_CTX* tcp() const override { return tcp_.get(); }
  SSL_CTX* quic() const override { return quic_.get(); }
  const TlsSettings& settings() const override { return policy_.settings; }

 private:
  Result<SslCtxPtr> make(const PolicyLists& lists, bool quic);

  const Policy policy_;  // before the contexts, which point to it
  SslCtxPtr tcp_;
  SslCtxPtr quic_;
};

// Tickets are honoured by every context of the same policy and by no other (RFC 8446 4.6.1 leaves
// it to the server what a ticket is bound to).
bool set_session_context(SSL_CTX* context, uint32_t policy_id) {
  std::array<uint8_t, 12> id = {'p', 'q', 'e', 'd', 'g', 'e', '-', '1'};
  store_be32(id.data() + 8, policy_id);
  return SSL_CTX_set_session_id_context(context, id.data(), id.size()) == 1;
}

bool set_lists(SSL_CTX* context, const PolicyLists& lists) {
  return SSL_CTX_set1_groups_list(context, lists.groups.c_str()) == 1 &&
         SSL_CTX_set_cipher_list(context, kTls12Ciphers) == 1 &&
         (lists.ciphers.empty() || SSL_CTX_set_ciphersuites(context, lists.ciphers.c_str()) == 1) &&
         (lists.signature_algorithms.empty() ||
          SSL_CTX_set1_sigalgs_list(context, lists.signature_algorithms.c_str()) == 1);
}

bool set_tickets(SSL_CTX* context, const TlsSettings& settings) {
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_timeout(context, static_cast<long>(settings.ticket_lifetime / kSecond));
  if (settings.session_tickets) return SSL_CTX_set_num_tickets(context, kTickets) == 1;
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
  return SSL_CTX_set_num_tickets(context, 0) == 1;
}

Result<SslCtxPtr> Contexts::make(const PolicyLists& lists, bool quic) {
  clear_errors();
  SslCtxPtr context(SSL_CTX_new(TLS_server_method()));
  SSL_CTX* c = context.get();
  const int least = quic ? TLS1_3_VERSION : lists.min_version;  // RFC 9001 4.2
  const bool ok = c != nullptr && SSL_CTX_set_min_proto_version(c, least) == 1 &&
                  SSL_CTX_set_max_proto_version(c, TLS1_3_VERSION) == 1 && set_lists(c, lists) &&
                  set_session_context(c, policy_.settings.id) && set_tickets(c, policy_.settings);
  if (!ok) return fail("tls: the policy cannot be set up: {}", take_openssl_error());
  SSL_CTX_set_options(c, kOptions);
  SSL_CTX_set_mode(c, kModes);
  if (!quic) SSL_CTX_set_read_ahead(c, 1);
  install_callbacks(c, policy_, quic);
  if (auto set = set_default_certificate(c, policy_.store->find({})); !set) {
    return std::unexpected(set.error());
  }
  return context;
}

Result<void> Contexts::build() {
  clear_errors();
  if (policy_.settings.session_tickets && ticket_cipher() == nullptr) {
    return fail("tls: session tickets cannot be sealed with AES-256-GCM: {}", take_openssl_error());
  }
  const PolicyLists lists = policy_lists(policy_.settings);
  auto tcp = make(lists, false);
  if (!tcp) return std::unexpected(tcp.error());
  auto quic = make(lists, true);
  if (!quic) return std::unexpected(quic.error());
  tcp_ = std::move(*tcp);
  quic_ = std::move(*quic);
  return {};
}

}  // namespace

Result<std::shared_ptr<ServerContexts>> ServerContexts::create(
    const TlsSettings& settings, std::shared_ptr<const CertificateStore> store,
    std::shared_ptr<TicketKeyRing> tickets, std::shared_ptr<const KeyLog> keylog) {
  for (const Problem& problem : validate(settings)) {
    if (!problem.warning) return fail("{}", to_text(problem));
  }
  std::vector<uint16_t> post_quantum;
  const auto groups = resolve_groups(settings.groups);
  for (const Group* group : groups.value()) {
    if (group->post_quantum) post_quantum.push_back(group->id);
  }
  auto contexts = std::make_shared<Contexts>(Policy{settings, std::move(store), std::move(tickets),
                                                    std::move(keylog), std::move(post_quantum)});
  if (auto built = contexts->build(); !built) return std::unexpected(built.error());
  return contexts;
}

}  // namespace pqedge::crypto
