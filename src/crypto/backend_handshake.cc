#include "crypto/backend_handshake.h"

#include <openssl/err.h>
#include <openssl/sslerr.h>
#include <openssl/x509v3.h>

#include <string>
#include <utility>

#include "base/bytes.h"

namespace pqedge::crypto {
namespace {

BackendFault fault_of_certificate(long result) {
  switch (result) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH: return BackendFault::name_mismatch;
    case X509_V_ERR_CERT_HAS_EXPIRED: return BackendFault::expired;
    case X509_V_ERR_CERT_NOT_YET_VALID: return BackendFault::not_yet_valid;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN: return BackendFault::unknown_authority;
    default: return BackendFault::bad_certificate;
  }
}

// OpenSSL ends a handshake in which the server takes what was not offered.
std::string_view read_alpn(const SSL* ssl) {
  const unsigned char* data = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl, &data, &size);
  const std::string_view chosen = as_text(Bytes(data, size));
  for (const std::string_view known : {"h3", "h2", "http/1.1"}) {
    if (chosen == known) return known;
  }
  return {};
}

// An address is no server name (RFC 6066 3), but a certificate can be held to it (RFC 9525 6.4).
bool expect_name(SSL* ssl, const BackendTlsStreamOptions& options) {
  const BackendTlsSettings& s = options.tls->settings();
  std::string name = s.verify_name.empty() ? s.server_name : s.verify_name;
  if (name.empty() && options.address.is_ip()) name = options.address.ip();
  if (name.empty()) return !s.verify;
  X509_VERIFY_PARAM* param = SSL_get0_param(ssl);
  if (net::Address::from_ip(name, 0)) {
    return X509_VERIFY_PARAM_set1_ip_asc(param, name.c_str()) == 1;
  }
  // RFC 9525 6.3: a wildcard is a whole label, and the common name is no name.
  SSL_set_hostflags(ssl,
                    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  return SSL_set1_host(ssl, name.c_str()) == 1;
}

// The application data of an SSL is its transport's.
int sessions_index() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

}  // namespace

bool set_up_backend_hello(SSL* ssl, const BackendTlsStreamOptions& options, uint16_t& learned) {
  const BackendTlsSettings& s = options.tls->settings();
  learned = options.learned == nullptr ? 0 : options.learned->load(std::memory_order_relaxed);
  if (learned != 0 && SSL_set1_groups_list(ssl, options.tls->group_list(learned).c_str()) != 1) {
    return false;
  }
  if (!s.server_name.empty() && !net::Address::from_ip(s.server_name, 0) &&
      SSL_set_tlsext_host_name(ssl, s.server_name.c_str()) != 1) {
    return false;
  }
  if (s.verify && !expect_name(ssl, options)) return false;
  if (const Bytes alpn = as_bytes(options.alpn);
      !alpn.empty() &&
      SSL_set_alpn_protos(ssl, alpn.data(), static_cast<unsigned>(alpn.size())) != 0) {
    return false;
  }
  if (options.sessions != nullptr && s.session_resumption) {
    SSL_set_ex_data(ssl, sessions_index(), options.sessions.get());
    SSL_SESSION* session = options.sessions->take();
    if (session != nullptr) {
      SSL_set_session(ssl, session);  // one that does not fit is not offered
      SSL_SESSION_free(session);
    }
  }
  return true;
}

BackendTlsFacts read_backend_facts(SSL* ssl, const BackendTlsStreamOptions& options,
                                   uint16_t learned) {
  BackendTlsFacts facts;
  facts.version = SSL_get_version(ssl);
  facts.cipher = SSL_CIPHER_standard_name(SSL_get_current_cipher(ssl));
  const char* name = SSL_get0_group_name(ssl);
  if (const Group* group = name == nullptr ? nullptr : find_group(std::string_view(name))) {
    facts.group = group->name;
    facts.post_quantum = group->post_quantum;
    facts.hello_retry = facts.version == "TLSv1.3" && !options.tls->sends_share(group->id, learned);
    // So that the next hello has the share that this server wants.
    if (facts.hello_retry && options.learned != nullptr) {
      options.learned->store(group->id, std::memory_order_relaxed);
    }
  }
  facts.alpn = read_alpn(ssl);
  facts.resumed = SSL_session_reused(ssl) == 1;
  return facts;
}

// ---- what went wrong ---------------------------------------------------------------------------

BackendFault fault_of_alert(int alert) {
  switch (alert) {
    case SSL_AD_HANDSHAKE_FAILURE:
    case SSL_AD_INSUFFICIENT_SECURITY: return BackendFault::no_common_group;
    case SSL_AD_PROTOCOL_VERSION: return BackendFault::no_common_version;
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_UNKNOWN_CA:
    case SSL_AD_ACCESS_DENIED:
    case TLS13_AD_CERTIFICATE_REQUIRED: return BackendFault::certificate_refused;
    case SSL_AD_UNRECOGNIZED_NAME: return BackendFault::name_refused;
    default: return BackendFault::other;
  }
}

BackendFault fault_of_error(const SSL* ssl, unsigned long error) {
  if (ERR_GET_LIB(error) != ERR_LIB_SSL) return BackendFault::other;
  const int reason = ERR_GET_REASON(error);
  if (reason >= SSL_AD_REASON_OFFSET) return fault_of_alert(reason - SSL_AD_REASON_OFFSET);
  switch (reason) {
    case SSL_R_CERTIFICATE_VERIFY_FAILED: return fault_of_certificate(SSL_get_verify_result(ssl));
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_UNKNOWN_PROTOCOL:
    case SSL_R_BAD_RECORD_TYPE:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_HTTP_REQUEST: return BackendFault::not_tls;
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_WRONG_SSL_VERSION:
    case SSL_R_VERSION_TOO_LOW: return BackendFault::no_common_version;
    case SSL_R_NO_SUITABLE_KEY_SHARE:
    case SSL_R_NO_SUITABLE_GROUPS:
    case SSL_R_BAD_KEY_SHARE:
    case SSL_R_NO_SHARED_GROUPS: return BackendFault::no_common_group;
    default: return BackendFault::other;
  }
}

Error describe_fault(BackendFault fault, const SSL* ssl, unsigned long error) {
  std::string message(text(fault));
  const bool certificate = ssl != nullptr && ERR_GET_LIB(error) == ERR_LIB_SSL &&
                           ERR_GET_REASON(error) == SSL_R_CERTIFICATE_VERIFY_FAILED;
  const char* reason = certificate  ? X509_verify_cert_error_string(SSL_get_verify_result(ssl))
                       : error != 0 ? ERR_reason_error_string(error)
                                    : nullptr;
  if (reason != nullptr) message.append(" (").append(reason).append(")");
  return Error{std::move(message), 0};
}

// ---- sessions -----------------------------------------------------------------------------------

int on_backend_session(SSL* ssl, SSL_SESSION* session) {
  auto* sessions = static_cast<BackendSessions*>(SSL_get_ex_data(ssl, sessions_index()));
  if (sessions == nullptr) return 0;
  sessions->put(session);
  return 1;  // the reference is theirs
}

}  // namespace pqedge::crypto
