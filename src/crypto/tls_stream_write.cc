// What a turn wrote, into records and out.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "crypto/scratch_record.h"
#include "crypto/tls_stream.h"

namespace pqedge::crypto {
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
  const auto seal = phase_ == Phase::early ? SSL_write_early_data : SSL_write_ex;
  if (seal(ssl_.get(), plaintext.data(), plaintext.size(), &n) != 1) return false;
  queue_.consume(n);
  return true;
}

bool TlsStream::seal_close() {
  output_ = Output::closed;
  clear_errors();
  return SSL_shutdown(ssl_.get()) >= 0;
}

RecordSocket::Sent TlsStream::send_gathered() {
  const RecordSocket::Sent sent = socket_.send_gathered();
  if (socket_.take_starved()) [[unlikely]]
    loop_.tell_writable_soon(*this);
  return sent;
}

void TlsStream::send_queued() {
  if (phase_ != Phase::open && phase_ != Phase::early) return;
  bool sealed = true;
  while (sealed && !socket_.blocked()) {
    while (sealed && !queue_.empty() && socket_.gathered() < burst_) sealed = seal_one();
    // OpenSSL cannot say goodbye within a handshake: confirm() comes back to it.
    if (sealed && queue_.empty() && output_ == Output::closing && phase_ == Phase::open) {
      sealed = seal_close();
    }
    if (!sealed) break;
    const RecordSocket::Sent sent = send_gathered();
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

}  // namespace pqedge::crypto
