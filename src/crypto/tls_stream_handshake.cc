// From the first byte to the finished handshake, or to its failure.
#include <openssl/err.h>
#include <openssl/sslerr.h>
#include <sys/socket.h>

#include <string_view>

#include "crypto/early_data.h"
#include "crypto/tls_stream.h"

namespace pqedge::crypto {
namespace {

// A browser pointed at the port with http:// shows this instead of an error page of its own.
constexpr std::string_view kPlainHttpAnswer =
    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 51\r\n"
    "Connection: close\r\n\r\nThis port speaks HTTPS. Use https:// in the address";
static_assert(kPlainHttpAnswer.size() - kPlainHttpAnswer.find("\r\n\r\n") - 4 == 51);

}  // namespace

// Only now, with the first bytes, does the connection cost an SSL.
bool TlsStream::begin() {
  clear_errors();
  ssl_.reset(SSL_new(contexts_->tcp()));
  BIO* bio = ssl_ == nullptr ? nullptr : socket_.make_bio();
  if (bio == nullptr) return false;
  SSL_set_bio(ssl_.get(), bio, bio);
  SSL_set_accept_state(ssl_.get());
  SSL_set_app_data(ssl_.get(), this);
  attach_session(ssl_.get(), &session_);
  phase_ = Phase::handshaking;
  reading_early_ = contexts_->settings().early_data.on;
  began_ = monotonic_now();
  return true;
}

void TlsStream::advance_handshake() {
  if (phase_ == Phase::silent && !begin()) return fail_handshake(false);
  if (away_ != nullptr) {  // what came waits in the socket; a client that has gone is let go
    if (socket_.hung_up()) fail_handshake(true);
    return;
  }
  clear_errors();
  const int result = step_handshake();
  if (result == 1) return finish_handshake();
  const int error = SSL_get_error(ssl_.get(), result);
  if (error == SSL_ERROR_WANT_X509_LOOKUP) return pause_handshake();
  if (error != SSL_ERROR_WANT_READ) return fail_handshake(false);
  if (!early_data_.empty()) return open_early();
  const bool broken = send_gathered() == RecordSocket::Sent::broken;
  if (broken || socket_.ended() || socket_.read_error() != 0) fail_handshake(true);
}

void TlsStream::finish_handshake() {
  phase_ = Phase::open;
  SSL_set_msg_callback(ssl_.get(), nullptr);
  read_facts(ssl_.get(), facts_);
  note_completed();
  // The ticket leaves with what the turn has to say: a request often came with the Finished.
  socket_.keep_gathered();
  if (socket_.kept() > 0) loop_.defer(turn_end_);
  exhausted_ = !may_have_input();
  const Watch watch(*this);
  handshake_handler_.on_handshake_done();
  if (!watch.gone()) call_readable();
}

void TlsStream::note_completed() {
  SSL_set_info_callback(ssl_.get(), on_state);
  facts_.handshake_time = monotonic_now() - began_;
  facts_.handshake_in = socket_.taken();
  facts_.handshake_out = socket_.sealed();
  note_early_data(ssl_.get(), session_, facts_);
  note_handshake(ssl_.get(), facts_);
}

void TlsStream::fail_handshake(bool closed) {
  const int reason = ERR_GET_REASON(ERR_peek_error());
  const bool plain_http = !closed && ERR_GET_LIB(ERR_peek_error()) == ERR_LIB_SSL &&
                          (reason == SSL_R_HTTP_REQUEST || reason == SSL_R_HTTPS_PROXY_REQUEST);
  fail(handshake_failure(session_, closed));
  if (plain_http) answer_plain_http();
  if (!closed && socket_.send_gathered() != RecordSocket::Sent::broken) {  // the alert
    socket_.send_fin();
    socket_.discard_input();
  }
  handshake_handler_.on_handshake_failed(error_);
}

void TlsStream::answer_plain_http() {
  [[maybe_unused]] const ssize_t n =
      ::send(socket_.fd(), kPlainHttpAnswer.data(), kPlainHttpAnswer.size(), MSG_NOSIGNAL);
}

}  // namespace pqedge::crypto
