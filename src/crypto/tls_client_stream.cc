#include "crypto/tls_client_stream.h"

#include <openssl/err.h>

#include <cerrno>
#include <system_error>

#include "base/counters.h"
#include "crypto/backend_handshake.h"

namespace pqedge::crypto {
namespace {

const counters::Counter backend_truncations(
    "pqedge_backend_tls_truncations_total",
    "connections ended by a backend without a close_notify");

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
  if (!set_up_backend_hello(ssl_.get(), options_, learned_)) return false;
  // It leaves in one segment with the hello.
  const auto size = static_cast<int>(options_.preface.size());
  return size == 0 || BIO_write(bio, options_.preface.data(), size) == size;
}

// ---- the handshake's end -----------------------------------------------------------------------

void TlsClientStream::finish_handshake() {
  phase_ = Phase::open;
  SSL_set_info_callback(ssl_.get(), on_state);
  const BackendTlsFacts facts = read_backend_facts(ssl_.get(), options_, learned_);
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
  const BackendFault fault = closed ? BackendFault::closed : fault_of_error(ssl_.get(), error);
  Error why = describe_fault(fault, ssl_.get(), closed ? 0 : error);
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
  backend_handler_.on_tls_failed(fault, describe_fault(fault, nullptr, error));
}

void TlsClientStream::note_truncation() {
  error_ = Error{"the backend ended the connection without a close_notify", 0};
  backend_truncations.add();
}

std::unique_ptr<net::Stream> make_tls_client_stream(net::Loop& loop, net::Fd fd,
                                                    BackendTlsStreamOptions options,
                                                    BackendTlsHandler& handler) {
  return std::make_unique<TlsClientStream>(loop, std::move(fd), std::move(options), handler);
}

}  // namespace pqedge::crypto
