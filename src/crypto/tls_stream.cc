// TLS over an accepted TCP socket.
//
// A turn: events say that there are bytes, OpenSSL reads them from the socket in records, the
// handler answers; at the end of the turn everything queued is sealed into as few records as it
// fills, and leaves in one send(). Handlers are called from the loop only, never from inside a call
// of their own on the stream.
#include <openssl/err.h>
#include <openssl/sslerr.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/counters.h"
#include "crypto/handles.h"
#include "crypto/record_socket.h"
#include "crypto/tls.h"

namespace pqedge::crypto {
namespace {

constexpr size_t kMaxPlaintext = 1 << 14;  // RFC 8446 5.1
// Sealed before a send: all that a fast client takes at once, little when the last send was
// refused.
constexpr size_t kLeastBurst = 16 * 1024;
constexpr size_t kMostBurst = 64 * 1024;
// KeyUpdates (RFC 8446 4.6.3), or refused renegotiations in TLS 1.2, in a row without data between:
// OpenSSL sets no limit of its own.
constexpr int kMaxControlMessages = 32;

// A browser pointed at the port with http:// shows this instead of an error page of its own.
constexpr std::string_view kPlainHttpAnswer =
    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 51\r\n"
    "Connection: close\r\n\r\nThis port speaks HTTPS. Use https:// in the address";
static_assert(kPlainHttpAnswer.size() - kPlainHttpAnswer.find("\r\n\r\n") - 4 == 51);

uint8_t* scratch_record() {
  thread_local const std::unique_ptr<uint8_t[]> scratch(new uint8_t[kMaxPlaintext]);
  return scratch.get();
}

const counters::Counter control_floods("pqedge_tls_control_floods_total",
                                       "connections closed for KeyUpdates without data");
const counters::Counter truncations("pqedge_tls_truncations_total",
                                    "connections ended by the client without a close_notify");

class TlsStream final : public net::Stream, public net::EventSource {
 public:
  TlsStream(net::Loop& loop, net::Fd fd, std::shared_ptr<ServerContexts> contexts,
            net::ConnectionFacts& facts, const AlpnList& alpn, HandshakeHandler& handler);
  ~TlsStream() override;

  net::IoResult read(MutableBytes into) override;
  void write(Slice slice) override;
  void write_copy(Bytes bytes) override;
  size_t backlog() const override { return queue_.size() + socket_.kept(); }
  void notify_below(size_t low) override;
  void flush() override;
  void shutdown_write() override;
  void abort() override;
  void pause_reading() override { paused_ = true; }
  void resume_reading() override;
  bool truncated() const override { return input_ == Input::truncated; }
  const Error& last_error() const override { return error_; }
  int fd() const override { return socket_.fd(); }

  void on_events(uint32_t events) override;

 private:
  enum class Phase : uint8_t {
    silent,  // no byte came yet, there is no SSL
    handshaking,
    open,
    failed,  // error_ is set; nothing is read or written any more
  };
  enum class Input : uint8_t { open, closed, truncated };
  enum class Output : uint8_t {
    open,
    closing,   // close_notify follows the queue
    closed,    // it is sealed
    finished,  // all was sent, and the FIN
  };

  // Tells whether the stream was destroyed by a handler that was called meanwhile.
  class Watch {
   public:
    // Not inline: GCC would warn that the address of a local outlives it, which the destructor sees
    // to.
    [[gnu::noinline]] explicit Watch(TlsStream& stream) : stream_(stream), outer_(stream.watch_) {
      stream.watch_ = this;
    }
    ~Watch() {
      if (!gone_) stream_.watch_ = outer_;
    }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    bool gone() const { return gone_; }

   private:
    friend class TlsStream;
    TlsStream& stream_;
    Watch* outer_;
    bool gone_ = false;
  };

  bool begin();
  void advance_handshake();
  void finish_handshake();
  void fail_handshake(bool closed);
  void answer_plain_http();

  bool may_have_input() const;
  net::IoStatus settle_read(int result);
  net::IoStatus end_of_socket();
  static void on_state(const SSL* ssl, int where, int result);

  Bytes next_plaintext();
  bool seal_one();
  bool seal_close();
  void send_queued();
  void wrote(size_t n);

  void on_turn_end();
  void on_socket_error();
  void call_readable();
  void fail(Error error);
  void fail_and_tell(Error error);

  net::Loop& loop_;
  RecordSocket socket_;  // before ssl_, whose BIO points to it
  std::shared_ptr<ServerContexts> contexts_;
  SslPtr ssl_;
  net::ConnectionFacts& facts_;
  HandshakeHandler& handshake_handler_;
  SessionState session_;
  SliceQueue queue_;        // plaintext
  ChunkRef copies_;         // where write_copy() gathers; given back when the queue is empty
  size_t copies_used_ = 0;  // bytes of it handed out
  size_t low_mark_ = SIZE_MAX;
  size_t burst_ = kMostBurst;
  net::Deferred turn_end_;
  Error error_;
  Watch* watch_ = nullptr;
  int control_messages_ = 0;
  Phase phase_ = Phase::silent;
  Input input_ = Input::open;
  Output output_ = Output::open;
  bool exhausted_ = true;  // read() said so: on_readable() waits for an event
  bool paused_ = false;
  bool above_mark_ = false;
  bool readable_owed_ = false;
  bool error_owed_ = false;
};

TlsStream::TlsStream(net::Loop& loop, net::Fd fd, std::shared_ptr<ServerContexts> contexts,
                     net::ConnectionFacts& facts, const AlpnList& alpn, HandshakeHandler& handler)
    : loop_(loop),
      socket_(std::move(fd)),
      contexts_(std::move(contexts)),
      facts_(facts),
      handshake_handler_(handler),
      session_{.facts = &facts, .alpn = &alpn},
      turn_end_([](void* self) { static_cast<TlsStream*>(self)->on_turn_end(); }, this) {
  facts_.transport = net::Transport::tls;
  if (auto added = loop_.add(socket_.fd(), *this); !added) fail_and_tell(added.error());
}

TlsStream::~TlsStream() {
  for (Watch* w = watch_; w != nullptr; w = w->outer_) w->gone_ = true;
  if (socket_.fd() >= 0) loop_.remove(socket_.fd(), *this);
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

// ---- handshake -------------------------------------------------------------------------------

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
  return true;
}

void TlsStream::advance_handshake() {
  if (phase_ == Phase::silent && !begin()) return fail_handshake(false);
  clear_errors();
  const int result = SSL_do_handshake(ssl_.get());
  if (result == 1) return finish_handshake();
  if (SSL_get_error(ssl_.get(), result) != SSL_ERROR_WANT_READ) return fail_handshake(false);
  const bool broken = socket_.send_gathered() == RecordSocket::Sent::broken;
  if (broken || socket_.ended() || socket_.read_error() != 0) fail_handshake(true);
}

void TlsStream::finish_handshake() {
  phase_ = Phase::open;
  SSL_set_msg_callback(ssl_.get(), nullptr);
  SSL_set_info_callback(ssl_.get(), on_state);
  read_facts(ssl_.get(), facts_);
  count_handshake(facts_, session_);
  // The ticket leaves with what the turn has to say: a request often came with the Finished.
  socket_.keep_gathered();
  if (socket_.kept() > 0) loop_.defer(turn_end_);
  exhausted_ = !may_have_input();
  const Watch watch(*this);
  handshake_handler_.on_handshake_done();
  if (!watch.gone()) call_readable();
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

// ---- reading ---------------------------------------------------------------------------------

bool TlsStream::may_have_input() const {
  return !socket_.drained() || SSL_has_pending(ssl_.get()) == 1;
}

net::IoResult TlsStream::read(MutableBytes into) {
  if (phase_ != Phase::open || input_ == Input::truncated) return {net::IoStatus::error};
  if (input_ == Input::closed) return {net::IoStatus::end_of_stream};
  size_t total = 0;
  net::IoStatus status = net::IoStatus::would_block;
  while (total < into.size() && may_have_input()) {
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
    case SSL_ERROR_WANT_READ:
      return end_of_socket();
    case SSL_ERROR_ZERO_RETURN:
      input_ = Input::closed;
      return net::IoStatus::end_of_stream;
    default:
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
  error_ = Error{"the client ended the connection without a close_notify", 0};
  truncations.add();
  return net::IoStatus::error;
}

// Called by OpenSSL for each message after the handshake.
void TlsStream::on_state(const SSL* ssl, int where, int) {
  if ((where & SSL_CB_ACCEPT_LOOP) != SSL_CB_ACCEPT_LOOP) return;
  const OSSL_HANDSHAKE_STATE state = SSL_get_state(ssl);
  if (state != TLS_ST_SR_KEY_UPDATE && state != TLS_ST_SR_CLNT_HELLO) return;
  auto* stream = static_cast<TlsStream*>(SSL_get_app_data(ssl));
  if (++stream->control_messages_ != kMaxControlMessages + 1) return;
  control_floods.add();
  stream->socket_.stop_reading(EPROTO);
}

void TlsStream::resume_reading() {
  paused_ = false;
  if (exhausted_ || phase_ != Phase::open) return;
  readable_owed_ = true;
  loop_.defer(turn_end_);
}

// ---- writing ---------------------------------------------------------------------------------

void TlsStream::write(Slice slice) {
  if (phase_ == Phase::failed || slice.empty()) return;
  const size_t n = slice.size;
  queue_.push(std::move(slice));
  wrote(n);
}

void TlsStream::write_copy(Bytes bytes) {
  if (phase_ == Phase::failed) return;
  const size_t total = bytes.size();
  while (!bytes.empty()) {
    if (!copies_ || copies_used_ == Chunk::kCapacity) {
      copies_ = ChunkRef::make();
      copies_used_ = 0;
    }
    uint8_t* place = copies_->data() + copies_used_;
    const size_t n = std::min(bytes.size(), Chunk::kCapacity - copies_used_);
    std::memcpy(place, bytes.data(), n);
    copies_used_ += n;
    bytes = bytes.subspan(n);
    if (!queue_.empty() && queue_.back().chunk.get() == copies_.get() &&
        queue_.back().data + queue_.back().size == place) {
      queue_.extend_back(n);
    } else {
      queue_.push(Slice{copies_, place, n});
    }
  }
  wrote(total);
}

void TlsStream::wrote(size_t n) {
  if (n == 0) return;
  if (backlog() > low_mark_) above_mark_ = true;
  loop_.defer(turn_end_);
}

void TlsStream::notify_below(size_t low) {
  low_mark_ = low;
  above_mark_ = backlog() > low;
}

void TlsStream::flush() {
  send_queued();
  if (above_mark_ && backlog() <= low_mark_) loop_.defer(turn_end_);
}

void TlsStream::shutdown_write() {
  if (phase_ == Phase::failed || output_ != Output::open) return;
  output_ = Output::closing;
  loop_.defer(turn_end_);
}

void TlsStream::abort() {
  if (socket_.fd() < 0) return;
  socket_.reset();
  loop_.remove(socket_.fd(), *this);
  socket_.take_fd().reset();
  if (phase_ != Phase::failed) fail(Error{"closed by us", ECONNABORTED});
  turn_end_.unlink();
  readable_owed_ = error_owed_ = false;
}

// The plaintext of the next record, as full as the queue makes it. A slice that fills it alone is
// taken as it is, others are copied together: a copy is cheaper than another record.
Bytes TlsStream::next_plaintext() {
  const Slice& first = queue_.front();
  if (first.size >= kMaxPlaintext || queue_.count() == 1) {
    return first.bytes().first(std::min(first.size, kMaxPlaintext));
  }
  uint8_t* record = scratch_record();
  size_t used = 0;
  for (size_t i = 0; i < queue_.count() && used < kMaxPlaintext; ++i) {
    const Slice& s = queue_.at(i);
    const size_t n = std::min(s.size, kMaxPlaintext - used);
    std::memcpy(record + used, s.data, n);
    used += n;
  }
  return {record, used};
}

bool TlsStream::seal_one() {
  const Bytes plaintext = next_plaintext();
  clear_errors();
  size_t n = 0;
  if (SSL_write_ex(ssl_.get(), plaintext.data(), plaintext.size(), &n) != 1) return false;
  queue_.consume(n);
  return true;
}

bool TlsStream::seal_close() {
  output_ = Output::closed;
  clear_errors();
  return SSL_shutdown(ssl_.get()) >= 0;
}

void TlsStream::send_queued() {
  if (phase_ != Phase::open) return;
  bool sealed = true;
  while (sealed && !socket_.blocked()) {
    while (sealed && !queue_.empty() && socket_.gathered() < burst_) sealed = seal_one();
    if (sealed && queue_.empty() && output_ == Output::closing) sealed = seal_close();
    if (!sealed) break;
    const RecordSocket::Sent sent = socket_.send_gathered();
    if (sent == RecordSocket::Sent::broken) break;
    burst_ = sent == RecordSocket::Sent::blocked ? kLeastBurst : std::min(2 * burst_, kMostBurst);
    if (queue_.empty()) break;
  }
  if (const int code = socket_.write_error(); code != 0) {
    return fail_and_tell(Error{"write: " + std::generic_category().message(code), code});
  }
  if (!sealed) {
    socket_.send_gathered();
    return fail_and_tell(Error{"TLS: " + take_openssl_error(), 0});
  }
  if (!queue_.empty()) return;
  copies_ = {};
  if (output_ == Output::closed && socket_.kept() == 0) {
    output_ = Output::finished;
    socket_.send_fin();
  }
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
    case Phase::handshaking:
      return advance_handshake();
    case Phase::open:
      exhausted_ = false;
      if (events & kError) return on_socket_error();
      return call_readable();
    case Phase::failed:
      return;
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
  if (exhausted_ || paused_ || phase_ != Phase::open || handler_ == nullptr) return;
  if (input_ == Input::open) handler_->on_readable();
}

void TlsStream::on_turn_end() {
  send_queued();
  if (phase_ == Phase::handshaking && !socket_.blocked()) socket_.send_gathered();
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

}  // namespace

std::unique_ptr<net::Stream> make_tls_server_stream(net::Loop& loop, net::Fd fd,
                                                    std::shared_ptr<ServerContexts> contexts,
                                                    net::ConnectionFacts& facts,
                                                    const AlpnList& alpn,
                                                    HandshakeHandler& handler) {
  return std::make_unique<TlsStream>(loop, std::move(fd), std::move(contexts), facts, alpn,
                                     handler);
}

}  // namespace pqedge::crypto
