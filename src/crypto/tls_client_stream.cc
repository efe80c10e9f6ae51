#include "crypto/tls_client_stream.h"

#include <openssl/err.h>
#include <openssl/sslerr.h>

#include <cerrno>
#include <system_error>

#include "base/counters.h"

namespace pqedge::crypto {
namespace {

const counters::Counter truncations("pqedge_backend_tls_truncations_total",
                                    "connections ended by a backend without a close_notify");

// RFC 8446 6: what a server says is wrong.
BackendFault fault_of_alert(int alert) {
  switch (alert) {
    case SSL_AD_HANDSHAKE_FAILURE:
    case SSL_AD_INSUFFICIENT_SECURITY:
      return BackendFault::no_common_group;
    case SSL_AD_PROTOCOL_VERSION:
      return BackendFault::no_common_version;
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_UNKNOWN_CA:
    case SSL_AD_ACCESS_DENIED:
    case TLS13_AD_CERTIFICATE_REQUIRED:
      return BackendFault::certificate_refused;
    case SSL_AD_UNRECOGNIZED_NAME:
      return BackendFault::name_refused;
    default:
      return BackendFault::other;
  }
}

BackendFault fault_of_certificate(long result) {
  switch (result) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return BackendFault::name_mismatch;
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return BackendFault::expired;
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return BackendFault::not_yet_valid;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
      return BackendFault::unknown_authority;
    default:
      return BackendFault::bad_certificate;
  }
}

// Of the first error in the thread's queue.
BackendFault fault_of_error(const SSL* ssl, unsigned long error) {
  if (ERR_GET_LIB(error) != ERR_LIB_SSL) return BackendFault::other;
  const int reason = ERR_GET_REASON(error);
  if (reason >= SSL_AD_REASON_OFFSET) return fault_of_alert(reason - SSL_AD_REASON_OFFSET);
  switch (reason) {
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
      return fault_of_certificate(SSL_get_verify_result(ssl));
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_UNKNOWN_PROTOCOL:
    case SSL_R_BAD_RECORD_TYPE:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_HTTP_REQUEST:
      return BackendFault::not_tls;
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_WRONG_SSL_VERSION:
    case SSL_R_VERSION_TOO_LOW:
      return BackendFault::no_common_version;
    case SSL_R_NO_SUITABLE_KEY_SHARE:
    case SSL_R_NO_SUITABLE_GROUPS:
    case SSL_R_BAD_KEY_SHARE:
    case SSL_R_NO_SHARED_GROUPS:
      return BackendFault::no_common_group;
    default:
      return BackendFault::other;
  }
}

// OpenSSL ends a handshake in which the server takes what was not offered.
std::string_view read_alpn(const SSL* ssl) {
  const unsigned char* data = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl, &data, &size);
  const std::string_view chosen = as_text(Bytes(data, size));
  for (const std::string_view known : {"h2", "http/1.1"}) {
    if (chosen == known) return known;
  }
  return {};
}

Error describe(BackendFault fault, const SSL* ssl, unsigned long error) {
  std::string message(text(fault));
  const bool certificate = ssl != nullptr && ERR_GET_LIB(error) == ERR_LIB_SSL &&
                           ERR_GET_REASON(error) == SSL_R_CERTIFICATE_VERIFY_FAILED;
  const char* reason = certificate ? X509_verify_cert_error_string(SSL_get_verify_result(ssl))
                       : error != 0 ? ERR_reason_error_string(error)
                                    : nullptr;
  if (reason != nullptr) message.append(" (").append(reason).append(")");
  return Error{std::move(message), 0};
}

}  // namespace

TlsClientStream::TlsClientStream(net::Loop& loop, net::Fd fd, BackendTlsStreamOptions options,
                                 BackendTlsHandler& handler)
    : TlsStream(loop, std::move(fd), nullptr, client_facts_, no_alpn_, *this),
      options_(std::move(options)),
      backend_handler_(handler) {}

TlsClientStream::~TlsClientStream() {
  // Or OpenSSL takes the session for a broken one, which is never used again.
  if (ssl_ != nullptr) SSL_set_shutdown(ssl_.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
}

// ---- connecting --------------------------------------------------------------------------------

void TlsClientStream::on_events(uint32_t events) {
  if (phase_ != Phase::silent) return TlsStream::on_events(events);
  if ((events & kError) != 0) {
    const int code = net::socket_error(socket_.fd());
    if (code == 0) return;
    return fail_and_tell(Error{"connect: " + std::generic_category().message(code), code});
  }
  if ((events & kWritable) == 0) return;
  socket_.note_readable((events & kHangup) != 0);
  backend_handler_.on_tls_begun();
  advance_handshake();
}

// An address is no server name (RFC 6066 3), but a certificate can be held to it (RFC 9525 6.4).
bool TlsClientStream::expect_name() {
  const BackendTlsSettings& s = options_.tls->settings();
  std::string name = s.verify_name.empty() ? s.server_name : s.verify_name;
  if (name.empty() && options_.address.is_ip()) name = options_.address.ip();
  if (name.empty()) return !s.verify;
  X509_VERIFY_PARAM* param = SSL_get0_param(ssl_.get());
  if (net::Address::from_ip(name, 0)) {
    return X509_VERIFY_PARAM_set1_ip_asc(param, name.c_str()) == 1;
  }
  // RFC 9525 6.3: a wildcard is a whole label, and the common name is no name.
  SSL_set_hostflags(ssl_.get(),
                    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  return SSL_set1_host(ssl_.get(), name.c_str()) == 1;
}

bool TlsClientStream::set_up() {
  const BackendTlsSettings& s = options_.tls->settings();
  learned_ = options_.learned == nullptr ? 0 : options_.learned->load(std::memory_order_relaxed);
  if (learned_ != 0 &&
      SSL_set1_groups_list(ssl_.get(), options_.tls->group_list(learned_).c_str()) != 1) {
    return false;
  }
  if (!s.server_name.empty() && !net::Address::from_ip(s.server_name, 0) &&
      SSL_set_tlsext_host_name(ssl_.get(), s.server_name.c_str()) != 1) {
    return false;
  }
  if (s.verify && !expect_name()) return false;
  if (const Bytes alpn = as_bytes(options_.alpn);
      !alpn.empty() &&
      SSL_set_alpn_protos(ssl_.get(), alpn.data(), static_cast<unsigned>(alpn.size())) != 0) {
    return false;
  }
  if (options_.sessions != nullptr && s.session_resumption) {
    SSL_SESSION* session = options_.sessions->take();
    if (session != nullptr) {
      SSL_set_session(ssl_.get(), session);  // one that does not fit is not offered
      SSL_SESSION_free(session);
    }
  }
  return true;
}

bool TlsClientStream::begin() {
  phase_ = Phase::handshaking;
  began_ = monotonic_now();
  if (options_.context == nullptr) return false;
  clear_errors();
  ssl_.reset(SSL_new(options_.context.get()));
  BIO* bio = ssl_ == nullptr ? nullptr : socket_.make_bio();
  if (bio == nullptr) return false;
  SSL_set_bio(ssl_.get(), bio, bio);
  SSL_set_connect_state(ssl_.get());
  SSL_set_app_data(ssl_.get(), static_cast<TlsStream*>(this));
  if (!set_up()) return false;
  // It leaves in one segment with the hello.
  const auto size = static_cast<int>(options_.preface.size());
  return size == 0 || BIO_write(bio, options_.preface.data(), size) == size;
}

// ---- the handshake's end -----------------------------------------------------------------------

BackendTlsFacts TlsClientStream::read_negotiated() {
  BackendTlsFacts facts;
  facts.version = SSL_get_version(ssl_.get());
  facts.cipher = SSL_CIPHER_standard_name(SSL_get_current_cipher(ssl_.get()));
  const char* name = SSL_get0_group_name(ssl_.get());
  if (const Group* group = name == nullptr ? nullptr : find_group(std::string_view(name))) {
    facts.group = group->name;
    facts.post_quantum = group->post_quantum;
    facts.hello_retry = facts.version == "TLSv1.3" &&
                        !options_.tls->sends_share(group->id, learned_);
    // So that the next hello has the share that this server wants.
    if (facts.hello_retry && options_.learned != nullptr) {
      options_.learned->store(group->id, std::memory_order_relaxed);
    }
  }
  facts.alpn = read_alpn(ssl_.get());
  facts.resumed = SSL_session_reused(ssl_.get()) == 1;
  return facts;
}

void TlsClientStream::finish_handshake() {
  phase_ = Phase::open;
  SSL_set_info_callback(ssl_.get(), on_state);
  const BackendTlsFacts facts = read_negotiated();
  // The Finished leaves with the request that follows in the same turn.
  socket_.keep_gathered();
  if (socket_.kept() > 0) loop_.defer(turn_end_);
  exhausted_ = !may_have_input();
  const Watch watch(*this);
  backend_handler_.on_tls_done(facts);
  if (!watch.gone() && handler_ != nullptr) handler_->on_connected();
  if (!watch.gone()) call_readable();
}

void TlsClientStream::fail_handshake(bool closed) {
  const unsigned long error = ERR_peek_error();  // the first one says what began it
  const BackendFault fault =
      closed ? BackendFault::closed : fault_of_error(ssl_.get(), error);
  Error why = describe(fault, ssl_.get(), closed ? 0 : error);
  ERR_clear_error();
  fail(std::move(why));
  if (!closed && socket_.send_gathered() != RecordSocket::Sent::broken) {  // the alert
    socket_.send_fin();
    socket_.discard_input();
  }
  backend_handler_.on_tls_failed(fault, error_);
}

void TlsClientStream::note_read_error() {
  const unsigned long error = ERR_peek_error();
  const BackendFault fault = fault_of_error(ssl_.get(), error);
  backend_handler_.on_tls_failed(fault, describe(fault, nullptr, error));
}

void TlsClientStream::note_truncation() {
  error_ = Error{"the backend ended the connection without a close_notify", 0};
  truncations.add();
}

int TlsClientStream::on_session(SSL* ssl, SSL_SESSION* session) {
  auto* stream = static_cast<TlsClientStream*>(static_cast<TlsStream*>(SSL_get_app_data(ssl)));
  if (stream == nullptr || stream->options_.sessions == nullptr) return 0;
  stream->options_.sessions->put(session);
  return 1;  // the reference is ours
}

std::unique_ptr<net::Stream> make_tls_client_stream(net::Loop& loop, net::Fd fd,
                                                    BackendTlsStreamOptions options,
                                                    BackendTlsHandler& handler) {
  return std::make_unique<TlsClientStream>(loop, std::move(fd), std::move(options), handler);
}

}  // namespace pqedge::crypto
