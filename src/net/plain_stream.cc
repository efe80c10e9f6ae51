// TCP and Unix sockets as streams.
//
// Handlers are called from the loop only (an event, or the end of a turn), never from inside a call
// of their own on the stream.
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

#include "net/stream.h"

namespace pqedge::net {
namespace {

constexpr size_t kMaxParts = 64;  // slices in one gathered write

class PlainStream final : public Stream, public EventSource {
 public:
  PlainStream(Loop& loop, Fd fd);
  ~PlainStream() override;

  IoResult read(MutableBytes into) override;
  void write(Slice slice) override;
  void write_copy(Bytes bytes) override;
  size_t backlog() const override { return queue_.size(); }
  void notify_below(size_t low) override;
  void flush() override;
  void shutdown_write() override;
  void abort() override;
  void pause_reading() override { paused_ = true; }
  void resume_reading() override;
  const Error& last_error() const override { return error_; }
  int fd() const override { return fd_.get(); }

  void on_events(uint32_t events) override;

 private:
  // What is still owed to the handler at the end of the turn.
  enum Owed : uint8_t { kReadableOwed = 1, kErrorOwed = 2 };

  void on_turn_end();
  void on_socket_error();
  void settle_error();
  void call_readable() {
    if (readable_ && !paused_ && !ended_ && handler_ != nullptr) handler_->on_readable();
  }
  bool bytes_waiting() const;
  void send_queued();
  void fail(int code, std::string_view what);
  void owe(uint8_t what) {
    owed_ |= what;
    loop_.defer(turn_end_);
  }
  void wrote(size_t n);

  // Tells whether the stream was destroyed by a handler that was called meanwhile.
  class Watch {
   public:
    // Not inline: GCC would warn that the address of a local outlives it, which the destructor sees
    // to.
    [[gnu::noinline]] explicit Watch(PlainStream& stream) : stream_(stream) {
      stream.watch_ = this;
    }
    ~Watch() {
      if (!gone_) stream_.watch_ = nullptr;
    }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    bool gone() const { return gone_; }

   private:
    friend class PlainStream;
    PlainStream& stream_;
    bool gone_ = false;
  };

  Loop& loop_;
  Fd fd_;
  SliceQueue queue_;
  ChunkRef copies_;         // where write_copy() gathers; given back when the queue is empty
  size_t copies_used_ = 0;  // bytes of it handed out
  size_t low_mark_ = SIZE_MAX;
  Deferred turn_end_;
  Error error_;
  Watch* watch_ = nullptr;
  uint8_t owed_ = 0;
  bool connected_ = false;
  bool readable_ = false;  // the kernel may have something for us
  bool writable_ = false;  // the kernel may take something
  bool hangup_ = false;    // the peer's end was signalled: a short read does not mean drained
  bool ended_ = false;     // the end was read
  bool paused_ = false;
  bool above_mark_ = false;
  bool shutdown_asked_ = false;
  bool shutdown_done_ = false;
  bool broken_ = false;  // error_ is set, nothing can be sent any more
};

PlainStream::PlainStream(Loop& loop, Fd fd)
    : loop_(loop),
      fd_(std::move(fd)),
      turn_end_([](void* self) { static_cast<PlainStream*>(self)->on_turn_end(); }, this) {
  if (auto added = loop_.add(fd_.get(), *this); !added) {
    broken_ = true;
    error_ = added.error();
    owe(kErrorOwed);
  }
}

PlainStream::~PlainStream() {
  if (watch_ != nullptr) watch_->gone_ = true;
  if (fd_) loop_.remove(fd_.get(), *this);
}

// Nothing can be sent any more. Who is told, and when, is the caller's business.
void PlainStream::fail(int code, std::string_view what) {
  broken_ = true;
  error_ = Error{std::format("{}: {}", what, std::generic_category().message(code)), code};
  queue_.clear();
  copies_ = {};
  above_mark_ = false;
}

// ---- reading ------------------------------------------------------------------------------------

IoResult PlainStream::read(MutableBytes into) {
  if (ended_) return {IoStatus::end_of_stream};
  if (!fd_) return {IoStatus::error};
  if (!readable_) return {IoStatus::would_block};
  ssize_t n;
  do {
    n = ::recv(fd_.get(), into.data(), into.size(), 0);
  } while (n < 0 && errno == EINTR);
  if (n > 0) {
    // A short read emptied the socket: the next bytes raise a new edge (epoll(7)). An end that was
    // signalled already raises none.
    if (static_cast<size_t>(n) < into.size() && !hangup_) readable_ = false;
    return {IoStatus::ok, static_cast<size_t>(n)};
  }
  if (n == 0 && into.empty()) return {IoStatus::ok};
  readable_ = false;
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return {IoStatus::would_block};
  if (n == 0 && !(broken_ && error_.code != EPIPE)) {
    ended_ = true;
    return {IoStatus::end_of_stream};
  }
  // The kernel tells a reset once: when a write was told first, reading sees an ordinary end, which
  // it was only if the write got EPIPE (our side ended after the peer's FIN had come).
  if (n < 0) fail(errno, "read");
  owed_ &= static_cast<uint8_t>(~kErrorOwed);  // the caller knows now
  return {IoStatus::error};
}

void PlainStream::resume_reading() {
  if (!paused_) return;
  paused_ = false;
  if (readable_) owe(kReadableOwed);
}

// ---- writing ------------------------------------------------------------------------------------

void PlainStream::write(Slice slice) {
  if (broken_ || slice.empty()) return;
  const size_t n = slice.size;
  queue_.push(std::move(slice));
  wrote(n);
}

void PlainStream::write_copy(Bytes bytes) {
  if (broken_) return;
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

void PlainStream::wrote(size_t n) {
  if (n == 0) return;
  if (queue_.size() > low_mark_) above_mark_ = true;
  loop_.defer(turn_end_);
}

void PlainStream::notify_below(size_t low) {
  low_mark_ = low;
  above_mark_ = queue_.size() > low;
}

void PlainStream::flush() {
  // An accepted socket can answer before its first event was heard (and be closed then); one that
  // is still connecting says EAGAIN.
  if (!connected_) writable_ = true;
  send_queued();
  if (above_mark_ && queue_.size() <= low_mark_) loop_.defer(turn_end_);
}

void PlainStream::shutdown_write() {
  if (broken_) return;
  shutdown_asked_ = true;
  loop_.defer(turn_end_);
}

void PlainStream::abort() {
  if (!fd_) return;
  const linger reset{.l_onoff = 1, .l_linger = 0};
  setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  loop_.remove(fd_.get(), *this);
  fd_.reset();
  if (!broken_) fail(ECONNABORTED, "closed by us");
  turn_end_.unlink();
  owed_ = 0;
  readable_ = false;
}

void PlainStream::send_queued() {
  while (writable_ && !broken_ && !queue_.empty()) {
    iovec parts[kMaxParts];
    size_t count = 0;
    size_t total = 0;
    for (; count < std::min(queue_.count(), kMaxParts); ++count) {
      const Slice& s = queue_.at(count);
      parts[count] = {const_cast<uint8_t*>(s.data), s.size};
      total += s.size;
    }
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = count;
    const ssize_t n = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
    if (n < 0) {
      if (errno == EINTR) continue;
      writable_ = false;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      if (connected_ && (errno == ENOBUFS || errno == ENOMEM)) {
        return loop_.tell_writable_soon(*this);
      }
      fail(errno, connected_ ? "write" : "connect");
      readable_ = hangup_ = true;  // what came before the error can still be read
      return owe(kErrorOwed);
    }
    queue_.consume(static_cast<size_t>(n));
    if (static_cast<size_t>(n) < total) writable_ = false;  // full: an edge comes with the room
  }
  if (!queue_.empty() || broken_) return;
  copies_ = {};
  if (shutdown_asked_ && !shutdown_done_ && connected_) {
    shutdown_done_ = true;
    ::shutdown(fd_.get(), SHUT_WR);  // fails only when the peer is gone, which reading tells
  }
}

// ---- from the loop ------------------------------------------------------------------------------

void PlainStream::on_events(uint32_t events) {
  if (events & kHangup) hangup_ = true;
  if (events & kReadable) readable_ = true;
  if (events & kError) return on_socket_error();
  if ((events & kWritable) && !(writable_ && connected_) && !broken_) {
    writable_ = true;
    if (!queue_.empty() || shutdown_asked_) loop_.defer(turn_end_);
  }
  const Watch watch(*this);
  if (!connected_ && (events & kWritable)) {
    connected_ = true;
    if (handler_ != nullptr) handler_->on_connected();
  }
  if (!watch.gone()) call_readable();
}

bool PlainStream::bytes_waiting() const {
  int n = 0;
  return ioctl(fd_.get(), FIONREAD, &n) == 0 && n > 0;
}

// The kernel holds an error. Bytes that came before it are still to be read, and reading finds the
// error after them; where nobody reads, it is taken here.
void PlainStream::on_socket_error() {
  if (connected_ && !ended_) {
    hangup_ = true;
    if (!paused_) return call_readable();
    if (bytes_waiting()) return;
  }
  const int code = socket_error(fd_.get());
  if (code == 0 || broken_) return;  // told already, or about to be
  fail(code, connected_ ? "connection" : "connect");
  if (handler_ != nullptr) handler_->on_stream_error(error_);
}

void PlainStream::on_turn_end() {
  send_queued();
  if (owed_ & kErrorOwed) return settle_error();
  const bool readable_owed = std::exchange(owed_, 0) != 0;
  const Watch watch(*this);
  if (above_mark_ && queue_.size() <= low_mark_) {
    above_mark_ = false;
    if (handler_ != nullptr) handler_->on_writable();
  }
  if (readable_owed && !watch.gone()) call_readable();
}

// A write failed: an answer that came before (a backend that refuses an upload) is read first.
void PlainStream::settle_error() {
  if (connected_ && !ended_) {
    const Watch watch(*this);
    call_readable();
    if (watch.gone() || !(owed_ & kErrorOwed)) return;
    if (paused_ && bytes_waiting()) return;  // resume_reading() brings us back
  }
  owed_ = 0;
  if (handler_ != nullptr) handler_->on_stream_error(error_);
}

}  // namespace

std::unique_ptr<Stream> make_plain_stream(Loop& loop, Fd fd) {
  return std::make_unique<PlainStream>(loop, std::move(fd));
}

}  // namespace pqedge::net
