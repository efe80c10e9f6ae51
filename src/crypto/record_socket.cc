#include "crypto/record_socket.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "crypto/handles.h"

namespace pqedge::crypto {
namespace {

constexpr size_t kGatherCapacity = 8 * RecordSocket::kMaxRecord;  // 130 KiB
constexpr size_t kMaxParts = 16;
constexpr size_t kSmallRead = 4096;  // with read-ahead on, OpenSSL asks for more than that

struct Gather {
  const RecordSocket* owner = nullptr;
  size_t used = 0;
  uint8_t data[kGatherCapacity];
};

Gather& gather_of_thread() {
  thread_local const std::unique_ptr<Gather> gather(new Gather);
  return *gather;
}

}  // namespace

RecordSocket::~RecordSocket() {
  Gather& g = gather_of_thread();
  if (g.owner != this) return;
  g.owner = nullptr;
  g.used = 0;
}

// ---- the BIO ---------------------------------------------------------------------------------

BIO_METHOD* RecordSocket::method() {
  static const BioMethodPtr method = [] {
    BioMethodPtr m(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "pqedge records"));
    BIO_meth_set_read(m.get(), bio_read);
    BIO_meth_set_write(m.get(), bio_write);
    BIO_meth_set_ctrl(m.get(), bio_control);
    BIO_meth_set_create(m.get(), bio_create);
    return m;
  }();
  return method.get();
}

int RecordSocket::bio_create(BIO* bio) {
  BIO_set_init(bio, 1);
  return 1;
}

BIO* RecordSocket::make_bio() {
  BIO* bio = BIO_new(method());
  if (bio != nullptr) BIO_set_data(bio, this);
  return bio;
}

long RecordSocket::bio_control(BIO*, int command, long, void*) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

int RecordSocket::bio_read(BIO* bio, char* into, int size) {
  BIO_clear_retry_flags(bio);
  auto* self = static_cast<RecordSocket*>(BIO_get_data(bio));
  const int n = self->read_some(reinterpret_cast<uint8_t*>(into), static_cast<size_t>(size));
  // The end and errors look like "not now" to OpenSSL, which would else break the SSL for writing
  // too; the stream looks at ended() and read_error().
  if (n < 0) {
    BIO_set_retry_read(bio);
  } else {
    self->taken_ += static_cast<uint64_t>(n);
  }
  return n;
}

int RecordSocket::bio_write(BIO* bio, const char* data, int size) {
  BIO_clear_retry_flags(bio);
  auto* self = static_cast<RecordSocket*>(BIO_get_data(bio));
  return self->gather({reinterpret_cast<const uint8_t*>(data), static_cast<size_t>(size)}) ? size
                                                                                           : -1;
}

// ---- reading ---------------------------------------------------------------------------------

int RecordSocket::read_some(uint8_t* into, size_t size) {
  if (read_error_ != 0) return -1;
  if (ahead_ || size < kSmallRead) return read_ahead(into, size);
  return receive(into, size);
}

int RecordSocket::receive(uint8_t* into, size_t size) {
  if (drained_ || ended_) return -1;
  ssize_t n;
  do {
    n = ::recv(fd_.get(), into, size, 0);
  } while (n < 0 && errno == EINTR);
  if (n > 0) {
    // A short read emptied the socket, and the next bytes raise a new edge (epoll(7)).
    if (static_cast<size_t>(n) < size && !hangup_) drained_ = true;
    return static_cast<int>(n);
  }
  drained_ = true;
  if (n == 0) {
    ended_ = true;
  } else if (errno != EAGAIN && errno != EWOULDBLOCK) {
    read_error_ = errno;
  }
  return -1;
}

// OpenSSL heeds its read-ahead setting for application data only: in the handshake it asks for a
// record's header, then for its body. One read serves both, and whatever came behind them.
int RecordSocket::read_ahead(uint8_t* into, size_t size) {
  if (!ahead_) {
    if (drained_ || ended_) return -1;
    ChunkRef chunk = ChunkRef::make();
    const int n = receive(chunk->data(), Chunk::kCapacity);
    if (n <= 0) return -1;
    ahead_ = std::move(chunk);
    ahead_begin_ = 0;
    ahead_end_ = static_cast<size_t>(n);
  }
  const size_t n = std::min(size, ahead_end_ - ahead_begin_);
  std::memcpy(into, ahead_->data() + ahead_begin_, n);
  ahead_begin_ += n;
  if (ahead_begin_ == ahead_end_) ahead_ = {};
  return static_cast<int>(n);
}

void RecordSocket::discard_input() {
  uint8_t sink[4096];
  for (int i = 0; i < 16; ++i) {
    if (::recv(fd_.get(), sink, sizeof sink, 0) <= 0) return;
  }
}

// ---- writing ---------------------------------------------------------------------------------

bool RecordSocket::gather(Bytes record) {
  sealed_ += record.size();
  Gather& g = gather_of_thread();
  g.owner = this;
  if (g.used + record.size() > kGatherCapacity) {
    // A flight larger than the buffer (a chain of SLH-DSA certificates).
    if (send_gathered() == Sent::broken) return false;
    g.owner = this;
  }
  if (blocked_ && kept_.size() + record.size() > kMaxKept) {
    write_error_ = ENOBUFS;
    return false;
  }
  if (record.size() > kGatherCapacity) {
    keep(record);
    return true;
  }
  std::memcpy(g.data + g.used, record.data(), record.size());
  g.used += record.size();
  return true;
}

size_t RecordSocket::gathered() const {
  const Gather& g = gather_of_thread();
  return g.owner == this ? g.used : 0;
}

void RecordSocket::keep(Bytes bytes) {
  while (!bytes.empty()) {
    if (!tail_ || tail_used_ == Chunk::kCapacity) {
      tail_ = ChunkRef::make();
      tail_used_ = 0;
    }
    uint8_t* place = tail_->data() + tail_used_;
    const size_t n = std::min(bytes.size(), Chunk::kCapacity - tail_used_);
    std::memcpy(place, bytes.data(), n);
    tail_used_ += n;
    bytes = bytes.subspan(n);
    if (!kept_.empty() && kept_.back().data + kept_.back().size == place) {
      kept_.extend_back(n);
    } else {
      kept_.push(Slice{tail_, place, n});
    }
  }
}

void RecordSocket::keep_gathered() {
  Gather& g = gather_of_thread();
  if (g.owner != this) return;
  keep({g.data, g.used});
  g.used = 0;
  g.owner = nullptr;
}

RecordSocket::Sent RecordSocket::send_gathered() {
  Gather& g = gather_of_thread();
  Bytes fresh = g.owner == this ? Bytes{g.data, g.used} : Bytes{};
  g.used = 0;
  g.owner = nullptr;
  if (write_error_ != 0) return Sent::broken;
  while (!blocked_ && (!kept_.empty() || !fresh.empty())) {
    iovec parts[kMaxParts + 1];
    size_t count = 0;
    size_t total = fresh.size();
    for (; count < std::min(kept_.count(), kMaxParts); ++count) {
      const Slice& s = kept_.at(count);
      parts[count] = {const_cast<uint8_t*>(s.data), s.size};
      total += s.size;
    }
    const bool all_kept = count == kept_.count();
    if (all_kept && !fresh.empty()) {
      parts[count++] = {const_cast<uint8_t*>(fresh.data()), fresh.size()};
    } else if (!all_kept) {
      total -= fresh.size();
    }
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = count;
    const ssize_t n = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
    if (n < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS || errno == ENOMEM) {
        starved_ = errno == ENOBUFS || errno == ENOMEM;
        blocked_ = true;
        break;
      }
      write_error_ = errno;
      kept_.clear();
      tail_ = {};
      return Sent::broken;
    }
    const size_t sent = static_cast<size_t>(n);
    if (sent < total) blocked_ = true;  // full: an edge comes with the room
    const size_t of_kept = std::min(sent, kept_.size());
    kept_.consume(of_kept);
    fresh = fresh.subspan(sent - of_kept);
  }
  if (!fresh.empty()) keep(fresh);
  if (kept_.empty()) tail_ = {};
  return kept_.empty() ? Sent::all : Sent::blocked;
}

void RecordSocket::send_fin() {
  ::shutdown(fd_.get(), SHUT_WR);  // fails only when the peer is gone, which reading tells
}

void RecordSocket::reset() {
  const linger now{.l_onoff = 1, .l_linger = 0};
  setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  kept_.clear();
  tail_ = {};
}

}  // namespace pqedge::crypto
