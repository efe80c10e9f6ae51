#include "measure/chain/sides.h"

#include <openssl/comp.h>

#include <cstring>
#include <string_view>

#include "crypto/groups.h"

namespace pqedge::measure {

using crypto::SslCtxPtr;
using crypto::SslPtr;
using crypto::take_openssl_error;

namespace {

constexpr unsigned kSctExtension = 18;
constexpr unsigned kSctContext = SSL_EXT_CLIENT_HELLO | SSL_EXT_TLS1_3_CERTIFICATE;

// ---- the SCTs of RFC 6962 3.3.1: asked for by an empty extension, given with the leaf -----------

int ask_for_scts(SSL*, unsigned, unsigned, const unsigned char** out, size_t* size, X509*, size_t,
                 int*, void*) {
  *out = nullptr;
  *size = 0;
  return 1;
}

int give_scts(SSL*, unsigned, unsigned, const unsigned char** out, size_t* size, X509*,
              size_t index, int*, void* list) {
  if (index != 0) return 0;  // the leaf alone has them
  const auto& bytes = *static_cast<const std::vector<uint8_t>*>(list);
  *out = bytes.data();
  *size = bytes.size();
  return 1;
}

int take_extension(SSL*, unsigned, unsigned, const unsigned char*, size_t, X509*, size_t, int*,
                   void*) {
  return 1;
}

// ---- the OCSP response of RFC 8446 4.4.2.1 ------------------------------------------------------

int give_staple(SSL* ssl, void* staple) {
  const auto& bytes = *static_cast<const std::vector<uint8_t>*>(staple);
  void* copy = OPENSSL_memdup(bytes.data(), bytes.size());
  if (copy == nullptr) return SSL_TLSEXT_ERR_ALERT_FATAL;
  SSL_set_tlsext_status_ocsp_resp(ssl, copy, static_cast<long>(bytes.size()));  // owns it now
  return SSL_TLSEXT_ERR_OK;
}

int choose_first_alpn(SSL*, const unsigned char** out, unsigned char* size, const unsigned char* in,
                      unsigned, void*) {
  *out = in + 1;
  *size = in[0];
  return SSL_TLSEXT_ERR_OK;
}

std::string_view alpn_of(FlightTransport transport) {
  return transport == FlightTransport::quic ? std::string_view("\x02h3")
                                            : std::string_view("\x02h2\x08http/1.1");
}

std::string client_groups(const std::string& group) {
  if (group == "X25519") return "*X25519:secp256r1:secp384r1";
  const crypto::Group* known = crypto::find_group(group);
  if (known != nullptr && known->post_quantum) {
    return "*" + group + "/*X25519:secp256r1:secp384r1";
  }
  return "*" + group;
}

bool show(SSL_CTX* context, X509* leaf, EVP_PKEY* key, X509* intermediate) {
  return SSL_CTX_use_certificate(context, leaf) == 1 && SSL_CTX_use_PrivateKey(context, key) == 1 &&
         SSL_CTX_add1_chain_cert(context, intermediate) == 1;
}

bool trust(SSL_CTX* context, X509* root, int mode) {
  SSL_CTX_set_verify(context, mode, nullptr);
  return X509_STORE_add_cert(SSL_CTX_get_cert_store(context), root) == 1;
}

SslCtxPtr new_context(const SSL_METHOD* method) {
  SslCtxPtr context(SSL_CTX_new(method));
  if (context == nullptr) return context;
  SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context.get(), 0);  // not of the first flight
  return context;
}

int compression_id(const std::string& name) {
  if (name == "zlib") return TLSEXT_comp_cert_zlib;
  if (name == "zstd") return TLSEXT_comp_cert_zstd;
  return TLSEXT_comp_cert_none;
}

Result<void> compress(const TlsSides& sides, const std::string& name) {
  int algorithm = compression_id(name);
  if (algorithm == TLSEXT_comp_cert_none) {
    return fail("OpenSSL is not asked to compress certificates by '{}': zlib or zstd", name);
  }
  const bool done = SSL_CTX_set1_cert_comp_preference(sides.server.get(), &algorithm, 1) == 1 &&
                    SSL_CTX_set1_cert_comp_preference(sides.client.get(), &algorithm, 1) == 1 &&
                    SSL_CTX_compress_certs(sides.server.get(), algorithm) == 1;
  if (!done)
    return fail("OpenSSL did not compress this chain by {}: {}", name, take_openssl_error());
  return {};
}

bool add_what_the_leaf_carries(const TlsSides& sides, const ChainSpec& spec,
                               const MintedChain& chain) {
  bool done = true;
  if (spec.sct_delivery == SctDelivery::tls_extension) {
    auto* list = const_cast<std::vector<uint8_t>*>(&chain.sct_list);
    done = SSL_CTX_add_custom_ext(sides.server.get(), kSctExtension, kSctContext, give_scts,
                                  nullptr, list, take_extension, nullptr) == 1 &&
           SSL_CTX_add_custom_ext(sides.client.get(), kSctExtension, kSctContext, ask_for_scts,
                                  nullptr, nullptr, take_extension, nullptr) == 1;
  }
  if (spec.staple) {
    SSL_CTX_set_tlsext_status_cb(sides.server.get(), give_staple);
    SSL_CTX_set_tlsext_status_arg(sides.server.get(),
                                  const_cast<std::vector<uint8_t>*>(&chain.staple));
  }
  return done;
}

}  // namespace

Result<TlsSides> make_sides(const ChainSpec& spec, const MintedChain& chain,
                            const std::string& group, FlightTransport transport) {
  crypto::clear_errors();
  TlsSides sides{new_context(TLS_server_method()), new_context(TLS_client_method())};
  SSL_CTX* server = sides.server.get();
  SSL_CTX* client = sides.client.get();
  if (server == nullptr || client == nullptr) return fail("TLS: {}", take_openssl_error());
  if (SSL_CTX_set1_groups_list(server, group.c_str()) != 1 ||
      SSL_CTX_set1_groups_list(client, client_groups(group).c_str()) != 1) {
    return fail("OpenSSL has no group {}: {}", group, take_openssl_error());
  }
  SSL_CTX_set_alpn_select_cb(server, choose_first_alpn, nullptr);
  bool done = show(server, chain.leaf.get(), chain.leaf_key.get(), chain.intermediate.get()) &&
              trust(client, chain.root.get(), SSL_VERIFY_PEER) &&
              add_what_the_leaf_carries(sides, spec, chain);
  if (spec.client_certificate) {
    done = done &&
           show(client, chain.client.get(), chain.client_key.get(), chain.intermediate.get()) &&
           trust(server, chain.root.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT);
  }
  if (!done) return fail("TLS with a chain of {}: {}", spec.leaf, take_openssl_error());
  if (!spec.compression.empty()) {
    if (auto compressed = compress(sides, spec.compression); !compressed) {
      return std::unexpected(compressed.error());
    }
  }
  if (transport == FlightTransport::quic) {
    // RFC 9001 8.4: no middlebox compatibility, so no session id in the hello.
    SSL_CTX_clear_options(client, SSL_OP_ENABLE_MIDDLEBOX_COMPAT);
  }
  return sides;
}

Result<SslPtr> new_client(const TlsSides& sides, const ChainSpec& spec, FlightTransport transport) {
  SslPtr ssl(SSL_new(sides.client.get()));
  if (ssl == nullptr) return fail("TLS: {}", take_openssl_error());
  const char* name = server_name_of(spec.profile);
  const std::string_view alpn = alpn_of(transport);
  SSL_set_connect_state(ssl.get());
  SSL_set_tlsext_host_name(ssl.get(), name);
  SSL_set1_host(ssl.get(), name);
  SSL_set_alpn_protos(ssl.get(), reinterpret_cast<const unsigned char*>(alpn.data()),
                      static_cast<unsigned>(alpn.size()));
  if (spec.staple) SSL_set_tlsext_status_type(ssl.get(), TLSEXT_STATUSTYPE_ocsp);
  return ssl;
}

Result<SslPtr> new_server(const TlsSides& sides) {
  SslPtr ssl(SSL_new(sides.server.get()));
  if (ssl == nullptr) return fail("TLS: {}", take_openssl_error());
  SSL_set_accept_state(ssl.get());
  return ssl;
}

Result<void> check_group(SSL* ssl, const std::string& group) {
  const char* name = SSL_get0_group_name(ssl);
  const crypto::Group* agreed = name == nullptr ? nullptr : crypto::find_group(name);
  if (agreed == nullptr || agreed != crypto::find_group(group)) {
    return fail("the handshake agreed on {} instead of {}", name == nullptr ? "no group" : name,
                group);
  }
  return {};
}

}  // namespace pqedge::measure
