// OpenSSL's side of a client: contexts and connections set up as a question needs them.
#include <openssl/rand.h>

#include <array>

#include "probe/session.h"

namespace pqedge::probe {
namespace {

#ifndef SSL_OP_ECH_GREASE  // a library that has ECH keeps the extension to itself

constexpr unsigned kEch = 0xfe0d;  // encrypted_client_hello (RFC 9849 11.1)

// A GREASE extension as RFC 9849 6.2 wants it: an outer ClientHelloECH whose key and payload are
// random. Made once: the hello after a HelloRetryRequest carries the same.
const std::vector<uint8_t>& ech_grease() {
  static const std::vector<uint8_t> body = [] {
    constexpr size_t kKey = 32;       // X25519's
    constexpr size_t kPayload = 208;  // as long as that of a usual inner hello, and a tag
    std::vector<uint8_t> b{0, 0, 1, 0, 1, 0, 0, kKey};  // outer; HKDF-SHA256, AES-128-GCM; id; key
    RAND_bytes(&b[5], 1);
    const size_t key = b.size();
    b.resize(key + kKey + 2 + kPayload);
    RAND_bytes(&b[key], static_cast<int>(b.size() - key));
    store_be16(&b[key + kKey], kPayload);
    return b;
  }();
  return body;
}

int add_ech(SSL*, unsigned int, unsigned int, const unsigned char** out, size_t* size, X509*,
            size_t, int*, void*) {
  *out = ech_grease().data();
  *size = ech_grease().size();
  return 1;
}

// The answer is read from the message itself; here it only must not be an error.
int accept_ech(SSL*, unsigned int, unsigned int, const unsigned char*, size_t, X509*, size_t, int*,
               void*) {
  return 1;
}

#endif

bool offer_ech_grease(SSL_CTX* context) {
#ifdef SSL_OP_ECH_GREASE
  SSL_CTX_set_options(context, SSL_OP_ECH_GREASE);
  return true;
#else
  return SSL_CTX_add_custom_ext(context, kEch,
                                SSL_EXT_CLIENT_HELLO | SSL_EXT_TLS1_3_ENCRYPTED_EXTENSIONS |
                                    SSL_EXT_TLS1_3_HELLO_RETRY_REQUEST,
                                add_ech, nullptr, nullptr, accept_ech, nullptr) == 1;
#endif
}

int keep_ticket(SSL* ssl, SSL_SESSION* session) {
  auto* place = static_cast<SessionPtr*>(SSL_get_ex_data(ssl, ticket_index()));
  if (place == nullptr || *place != nullptr) return 0;
  place->reset(session);
  return 1;  // the reference is ours now
}

Result<void> set_trust(SSL_CTX* context, const Options& options) {
  if (options.ca_file.empty()) {
    SSL_CTX_set_default_verify_paths(context);
  } else if (SSL_CTX_load_verify_locations(context, options.ca_file.c_str(), nullptr) != 1) {
    return fail("--ca-file {}: {}", options.ca_file, crypto::take_openssl_error());
  }
  // The chain is judged and the verdict reported; it ends no handshake.
  SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nullptr);
  return {};
}

}  // namespace

int ticket_index() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

Result<crypto::SslCtxPtr> make_context(const Options& options, const SessionAsk& asked) {
  crypto::clear_errors();
  crypto::SslCtxPtr context(SSL_CTX_new(TLS_client_method()));
  if (context == nullptr) return fail("TLS: {}", crypto::take_openssl_error());
  SSL_CTX* raw = context.get();
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  // What a server has is reported, weak keys as well: the library is not to refuse them.
  SSL_CTX_set_security_level(raw, 0);
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(raw, keep_ticket);
  // SSL_read() returns after each message: a server that sends tickets without end meets a
  // deadline.
  SSL_CTX_clear_mode(raw, SSL_MODE_AUTO_RETRY);
  if (asked.compression == 0) SSL_CTX_set_options(raw, SSL_OP_NO_RX_CERTIFICATE_COMPRESSION);
  if (auto trust = set_trust(raw, options); !trust) return std::unexpected(trust.error());
  std::array<int, 1> compression{asked.compression};
  const bool ok =
      SSL_CTX_set1_groups_list(raw, asked.groups.c_str()) == 1 &&
      (asked.signatures.empty() || SSL_CTX_set1_sigalgs_list(raw, asked.signatures.c_str()) == 1) &&
      (asked.compression == 0 ||
       SSL_CTX_set1_cert_comp_preference(raw, compression.data(), compression.size()) == 1) &&
      (!asked.ech_grease || offer_ech_grease(raw));
  if (!ok) return fail("the TLS library cannot ask that: {}", crypto::take_openssl_error());
  return context;
}

Result<crypto::SslPtr> make_client(SSL_CTX* context, const Options& options,
                                   const SessionAsk& asked, Seen& seen) {
  crypto::clear_errors();
  crypto::SslPtr ssl(SSL_new(context));
  if (ssl == nullptr) return fail("TLS: {}", crypto::take_openssl_error());
  SSL_set_connect_state(ssl.get());
  SSL_set_msg_callback(ssl.get(), &Seen::on_message);
  SSL_set_msg_callback_arg(ssl.get(), &seen);
  const std::string name = server_name(options);
  if (!name.empty() && (SSL_set_tlsext_host_name(ssl.get(), name.c_str()) != 1 ||
                        SSL_set1_host(ssl.get(), name.c_str()) != 1)) {
    return fail("{}: not a server name", name);
  }
  if (name.empty()) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl.get()), options.host.c_str());
  }
  std::string wire;
  for (const std::string& protocol : asked.alpn) {
    wire += static_cast<char>(protocol.size());
    wire += protocol;
  }
  if (!wire.empty() && SSL_set_alpn_protos(ssl.get(), as_bytes(wire).data(),
                                           static_cast<unsigned>(wire.size())) != 0) {
    return fail("TLS: the ALPN list was not taken");
  }
  if (asked.extras) {
    SSL_set_tlsext_status_type(ssl.get(), TLSEXT_STATUSTYPE_ocsp);
#ifndef OPENSSL_NO_CT
    SSL_enable_ct(ssl.get(), SSL_CT_VALIDATION_PERMISSIVE);
#endif
  }
  if (asked.resume != nullptr) SSL_set_session(ssl.get(), asked.resume);
  return ssl;
}

}  // namespace pqedge::probe
