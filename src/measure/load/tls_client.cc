#include "measure/load/tls_client.h"

#include <arpa/inet.h>
#include <openssl/err.h>

#include <array>
#include <utility>

namespace pqedge::measure::load {

namespace {

// Enough for the two tickets that servers usually send to each of some hundred connections.
constexpr size_t kTicketsKept = 1024;

bool is_address(const std::string& host) {
  std::array<unsigned char, 16> ip;
  const bool bracketed = host.starts_with('[');
  return bracketed || inet_pton(AF_INET, host.c_str(), ip.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), ip.data()) == 1;
}

std::string wire_alpn(Protocol protocol) {
  switch (protocol) {
    case Protocol::kHttp1: return "\x08http/1.1";
    case Protocol::kHttp2: return "\x02h2";
    case Protocol::kHttp3: return "\x02h3";
  }
  return {};
}

}  // namespace

std::string openssl_error() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return "unknown error";
  const char* reason = ERR_reason_error_string(code);
  if (reason != nullptr) return reason;
  std::array<char, 256> text;
  ERR_error_string_n(code, text.data(), text.size());
  return text.data();
}

TlsClient::TlsClient(SslCtxPtr context, const Options& options)
    : context_(std::move(context)),
      server_name_(!options.sni.empty() ? options.sni
                                        : (is_address(options.host) ? "" : options.host)),
      alpn_(wire_alpn(options.protocol)),
      resume_(options.resume),
      resumption_(options.resumption) {}

TlsClient::TlsClient(TlsClient&& other) noexcept
    : context_(std::move(other.context_)),
      server_name_(std::move(other.server_name_)),
      alpn_(std::move(other.alpn_)),
      resume_(other.resume_),
      resumption_(other.resumption_),
      due_(other.due_),
      tickets_(std::move(other.tickets_)) {}

Result<TlsClient> TlsClient::make(const Options& options) {
  SslCtxPtr context(SSL_CTX_new(TLS_client_method()));
  if (!context) return fail("TLS: {}", openssl_error());
  SSL_CTX* raw = context.get();
  SSL_CTX_set_min_proto_version(raw, TLS1_3_VERSION);
  SSL_CTX_set_read_ahead(raw, 1);
  if (SSL_CTX_set1_groups_list(raw, options.groups.c_str()) != 1) {
    return fail("--groups {}: {}", options.groups, openssl_error());
  }
  if (SSL_CTX_set_ciphersuites(raw, options.ciphers.c_str()) != 1) {
    return fail("--ciphers {}: {}", options.ciphers, openssl_error());
  }
  if (!options.sigalgs.empty() && SSL_CTX_set1_sigalgs_list(raw, options.sigalgs.c_str()) != 1) {
    return fail("--sigalgs {}: {}", options.sigalgs, openssl_error());
  }
  if (!options.certificate_file.empty()) {
    if (SSL_CTX_use_certificate_chain_file(raw, options.certificate_file.c_str()) != 1) {
      return fail("--cert {}: {}", options.certificate_file, openssl_error());
    }
    if (SSL_CTX_use_PrivateKey_file(raw, options.key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
      return fail("--key {}: {}", options.key_file, openssl_error());
    }
  }
  if (!options.ca_file.empty()) {
    if (SSL_CTX_load_verify_file(raw, options.ca_file.c_str()) != 1) {
      return fail("--ca {}: {}", options.ca_file, openssl_error());
    }
    SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nullptr);
  }
  SSL_CTX_set_session_cache_mode(raw, options.resume
                                          ? SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL
                                          : SSL_SESS_CACHE_OFF);
  if (options.resume) SSL_CTX_sess_set_new_cb(raw, &TlsClient::keep_ticket);
  return TlsClient(std::move(context), options);
}

// Called with a reference that is ours to keep (return 1) or to leave (0).
int TlsClient::keep_ticket(SSL* ssl, SSL_SESSION* session) {
  auto* self = static_cast<TlsClient*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
  if (self->tickets_.size() >= kTicketsKept) self->tickets_.pop_front();
  self->tickets_.emplace_back(session);
  return 1;
}

SslPtr TlsClient::new_connection() {
  // Here and not in make(): the object has come to rest.
  SSL_CTX_set_app_data(context_.get(), this);
  SslPtr ssl(SSL_new(context_.get()));
  if (!ssl) return nullptr;
  SSL_set_connect_state(ssl.get());
  if (!server_name_.empty()) {
    SSL_set_tlsext_host_name(ssl.get(), server_name_.c_str());
    SSL_set1_host(ssl.get(), server_name_.c_str());
  }
  SSL_set_alpn_protos(ssl.get(), reinterpret_cast<const unsigned char*>(alpn_.data()),
                      static_cast<unsigned int>(alpn_.size()));
  // The share is spread evenly: of ten connections at 0.3, the fourth, seventh and tenth resume. A
  // turn that comes before there is a ticket is made up for later.
  if (resume_) due_ += resumption_;
  if (resume_ && due_ >= 1 - 1e-9 && !tickets_.empty()) {
    due_ -= 1;
    SSL_set_session(ssl.get(), tickets_.front().get());
    // A ticket is used once (RFC 8446 C.4), but rather twice than not at all.
    if (tickets_.size() > 1) tickets_.pop_front();
  }
  return ssl;
}

TlsFacts TlsClient::facts(SSL* ssl) {
  TlsFacts facts;
  facts.version = SSL_get_version(ssl);
  if (const char* group = SSL_get0_group_name(ssl); group != nullptr) facts.group = group;
  if (const char* cipher = SSL_get_cipher_name(ssl); cipher != nullptr) facts.cipher = cipher;
  const unsigned char* alpn = nullptr;
  unsigned int length = 0;
  SSL_get0_alpn_selected(ssl, &alpn, &length);
  facts.alpn.assign(reinterpret_cast<const char*>(alpn), length);
  return facts;
}

}  // namespace pqedge::measure::load
