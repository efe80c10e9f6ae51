// The stream's life on the loop, and reading. Its handshake and its writing are in files beside.
#include "crypto/tls_stream.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/counters.h"

namespace pqedge::crypto {
namespace {

// KeyUpdates (RFC 8446 4.6.3), or refused renegotiations in TLS 1.2, in a row without data between:
// OpenSSL sets no limit of its own.
constexpr int kMaxControlMessages = 32;

const counters::Counter control_floods("pqedge_tls_control_floods_total",
                                       "connections closed for KeyUpdates without data");
const counters::Counter truncations("pqedge_tls_truncations_total",
                                    "connections ended by the client without a close_notify");

}  // namespace

TlsStream::TlsStream(net::Loop& loop, net::Fd fd, std::shared_ptr<ServerContexts> contexts,
                     net::ConnectionFacts& facts, const AlpnList& alpn, HandshakeHandler& handler,
                     Slice ahead)
    : loop_(loop),
      socket_(std::move(fd), std::move(ahead)),
      contexts_(std::move(contexts)),
      facts_(facts),
      handshake_handler_(handler),
      pause_(loop, *this),
      session_{.facts = &facts, .alpn = &alpn, .pause = &pause_},
      turn_end_([](void* self) { static_cast<TlsStream*>(self)->on_turn_end(); }, this) {
  facts_.transport = net::Transport::tls;
  if (auto added = loop_.add(socket_.fd(), *this); !added) {
    fail_and_tell(added.error());
    return;
  }
  begin_owed_ = !socket_.drained();
  if (begin_owed_) loop_.defer(turn_end_);
}

void TlsStream::fail(Error error) {
  phase_ = Phase::failed;
  error_ = std::move(error);
  queue_.clear();
  copies_ = {};
  above_mark_ = false;
}

// For failures that no call of the handler's can return.
void TlsStream::fail_and_tell(Error error) {
  fail(std::move(error));
  error_owed_ = true;
  loop_.defer(turn_end_);
}

// ---- reading ---------------------------------------------------------------------------------

bool TlsStream::may_have_input() const {
  return !early_data_.empty() || !socket_.drained() || SSL_has_pending(ssl_.get()) == 1;
}

net::IoResult TlsStream::read(MutableBytes into) {
  const bool may_read = phase_ == Phase::open || phase_ == Phase::early;
  if (!may_read || input_ == Input::truncated) return {net::IoStatus::error};
  if (input_ == Input::closed) return {net::IoStatus::end_of_stream};
  size_t total = take_early(into);
  net::IoStatus status = net::IoStatus::would_block;
  // Before the handshake is complete its steps alone read from the socket.
  while (phase_ == Phase::open && total < into.size() && may_have_input()) {
    clear_errors();
    size_t n = 0;
    const int result = SSL_read_ex(ssl_.get(), into.data() + total, into.size() - total, &n);
    if (result != 1) {
      status = settle_read(result);
      break;
    }
    total += n;
    control_messages_ = 0;
  }
  if (socket_.gathered() > 0) {  // the answer to a KeyUpdate, or an alert
    socket_.keep_gathered();
    loop_.defer(turn_end_);
  }
  // What came before an end or an error is delivered first; the next call tells of those.
  if (total > 0 || into.empty()) return {net::IoStatus::ok, total};
  exhausted_ = true;
  return {status};
}

net::IoStatus TlsStream::settle_read(int result) {
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ: return end_of_socket();
    case SSL_ERROR_ZERO_RETURN: input_ = Input::closed; return net::IoStatus::end_of_stream;
    default:
      note_read_error();
      fail(Error{"TLS: " + take_openssl_error(), 0});
      socket_.send_gathered();  // the alert
      return net::IoStatus::error;
  }
}

// OpenSSL wants more than the socket has: for now, or for ever?
net::IoStatus TlsStream::end_of_socket() {
  if (socket_.read_error() != 0) {
    const int code = socket_.read_error();
    fail(Error{code == EPROTO ? "too many KeyUpdates without data"
                              : "read: " + std::generic_category().message(code),
               code});
    return net::IoStatus::error;
  }
  if (!socket_.ended()) return net::IoStatus::would_block;
  // RFC 8446 6.1: without a close_notify the end may be an attacker's. Our direction still works.
  input_ = Input::truncated;
  note_truncation();
  return net::IoStatus::error;
}

void TlsStream::note_truncation() {
  error_ = Error{"the client ended the connection without a close_notify", 0};
  truncations.add();
}

// Called by OpenSSL for each message after the handshake.
void TlsStream::on_state(const SSL* ssl, int where, int) {
  const OSSL_HANDSHAKE_STATE state = SSL_get_state(ssl);
  const bool from_client = (where & SSL_CB_ACCEPT_LOOP) == SSL_CB_ACCEPT_LOOP &&
                           (state == TLS_ST_SR_KEY_UPDATE || state == TLS_ST_SR_CLNT_HELLO);
  const bool from_server = (where & SSL_CB_CONNECT_LOOP) == SSL_CB_CONNECT_LOOP &&
                           (state == TLS_ST_CR_KEY_UPDATE || state == TLS_ST_CR_SESSION_TICKET ||
                            state == TLS_ST_CR_HELLO_REQ);
  if (!from_client && !from_server) return;
  auto* stream = static_cast<TlsStream*>(SSL_get_app_data(ssl));
  if (++stream->control_messages_ != kMaxControlMessages + 1) return;
  control_floods.add();
  stream->socket_.stop_reading(EPROTO);
}

void TlsStream::resume_reading() {
  paused_ = false;
  if (exhausted_ || (phase_ != Phase::open && phase_ != Phase::early)) return;
  readable_owed_ = true;
  loop_.defer(turn_end_);
}

// ---- from the loop ---------------------------------------------------------------------------

void TlsStream::on_events(uint32_t events) {
  if (events & kWritable) {
    socket_.note_writable();
    if (backlog() > 0) loop_.defer(turn_end_);
  }
  if (!(events & kReadable)) return;
  socket_.note_readable((events & kHangup) != 0);
  switch (phase_) {
    case Phase::silent:
    case Phase::handshaking: return advance_handshake();
    case Phase::early: return advance_early();
    case Phase::open:
      exhausted_ = false;
      if (events & kError) return on_socket_error();
      return call_readable();
    case Phase::failed: return;
  }
}

// Where the handler reads, reading tells it; where it does not, we must.
void TlsStream::on_socket_error() {
  socket_.note_readable(true);
  if (!paused_ && input_ == Input::open) return call_readable();
  const int code = net::socket_error(socket_.fd());
  if (code == 0) return;
  fail_and_tell(Error{"connection: " + std::generic_category().message(code), code});
}

void TlsStream::call_readable() {
  if (exhausted_ || paused_ || handler_ == nullptr) return;
  if (phase_ != Phase::open && phase_ != Phase::early) return;
  if (input_ == Input::open) handler_->on_readable();
}

void TlsStream::on_turn_end() {
  if (std::exchange(begin_owed_, false) && phase_ == Phase::silent) return advance_handshake();
  send_queued();
  if (phase_ == Phase::handshaking && !socket_.blocked()) send_gathered();
  const bool readable_owed = std::exchange(readable_owed_, false);
  if (std::exchange(error_owed_, false)) {
    if (handler_ != nullptr) {
      handler_->on_stream_error(error_);
    } else {
      handshake_handler_.on_handshake_failed(error_);
    }
    return;
  }
  const Watch watch(*this);
  if (above_mark_ && backlog() <= low_mark_) {
    above_mark_ = false;
    if (handler_ != nullptr) handler_->on_writable();
  }
  if (readable_owed && !watch.gone()) call_readable();
}

std::unique_ptr<net::Stream> make_tls_server_stream(net::Loop& loop, net::Fd fd,
                                                    std::shared_ptr<ServerContexts> contexts,
                                                    net::ConnectionFacts& facts,
                                                    const AlpnList& alpn, HandshakeHandler& handler,
                                                    Slice ahead) {
  return std::make_unique<TlsStream>(loop, std::move(fd), std::move(contexts), facts, alpn, handler,
                                     std::move(ahead));
}

}  // namespace pqedge::crypto
