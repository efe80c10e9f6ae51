// The socket under an SSL: reads straight into OpenSSL's record buffer, and gathers the records
// that it writes, so that many leave in one send().
#pragma once

#include <openssl/bio.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/bytes.h"
#include "base/chunk.h"
#include "net/socket.h"

namespace pqedge::crypto {

// Records are gathered in a buffer of the thread, which serves one socket at a time: whoever made
// OpenSSL write must call send_gathered() or keep_gathered() before it returns to the loop.
class RecordSocket {
 public:
  // The size of the largest record (RFC 8446 5.2), with its header.
  static constexpr size_t kMaxRecord = 5 + (1 << 14) + 256;
  // What the kernel has refused, at most: beyond it the peer makes us answer without ever reading.
  static constexpr size_t kMaxKept = 256 * 1024;

  // `ahead`: bytes of a chunk that were read from the socket before; nothing else may write there.
  explicit RecordSocket(net::Fd fd, Slice ahead = {}) : fd_(std::move(fd)) {
    if (ahead.empty()) return;
    ahead_ = std::move(ahead.chunk);
    ahead_begin_ = static_cast<size_t>(ahead.data - ahead_->data());
    ahead_end_ = ahead_begin_ + ahead.size;
  }
  ~RecordSocket();
  RecordSocket(const RecordSocket&) = delete;
  RecordSocket& operator=(const RecordSocket&) = delete;

  // For SSL_set_bio(). It points here: the SSL must not outlive this.
  BIO* make_bio();
  int fd() const { return fd_.get(); }
  net::Fd take_fd() { return std::move(fd_); }

  // ---- reading
  // The loop says that there may be bytes. After a hang-up a short read does not mean that all was
  // read: the end is still to come, and raises no event of its own.
  void note_readable(bool hangup) {
    drained_ = false;
    hangup_ = hangup_ || hangup;
  }
  bool drained() const { return drained_ && !ahead_; }  // nothing to read until the next event
  bool ended() const { return ended_; }                 // the peer's FIN was read
  bool hung_up() const { return hangup_; }              // it came, and may not be read yet
  int read_error() const { return read_error_; }        // errno, or 0
  uint64_t taken() const { return taken_; }             // bytes that OpenSSL has read
  // Nothing more is read from the socket: OpenSSL stops at what it has, read_error() says why.
  void stop_reading(int error) { read_error_ = error; }
  // Drops some of what waits in the socket: closing it with bytes unread would send a reset, which
  // may overtake our last words.
  void discard_input();

  // ---- writing
  enum class Sent : uint8_t { all, blocked, broken };
  // Sends what was kept and what is gathered. What the kernel refuses is kept (`blocked`).
  Sent send_gathered();
  // Keeps what is gathered for the next send: it shall leave together with what follows.
  void keep_gathered();
  size_t gathered() const;
  uint64_t sealed() const { return sealed_; }  // bytes that OpenSSL has written
  size_t kept() const { return kept_.size(); }
  bool blocked() const { return blocked_; }
  // The kernel had no memory for the last send: there will be no edge. Once for each such send.
  bool take_starved() { return std::exchange(starved_, false); }
  void note_writable() { blocked_ = false; }
  int write_error() const { return write_error_; }
  // Half-closes after everything was sent.
  void send_fin();
  // Everything not sent is dropped, and the peer sees a reset.
  void reset();

 private:
  static BIO_METHOD* method();
  static int bio_read(BIO* bio, char* into, int size);
  static int bio_write(BIO* bio, const char* data, int size);
  static long bio_control(BIO* bio, int command, long number, void* pointer);
  static int bio_create(BIO* bio);

  int read_some(uint8_t* into, size_t size);
  int receive(uint8_t* into, size_t size);
  int read_ahead(uint8_t* into, size_t size);
  bool gather(Bytes record);
  void keep(Bytes bytes);

  net::Fd fd_;
  ChunkRef ahead_;  // bytes that were read before OpenSSL asked for them; empty if none
  size_t ahead_begin_ = 0;
  size_t ahead_end_ = 0;
  SliceQueue kept_;
  ChunkRef tail_;  // the last chunk of kept_, where more is appended
  size_t tail_used_ = 0;
  uint64_t taken_ = 0;
  uint64_t sealed_ = 0;
  int read_error_ = 0;
  int write_error_ = 0;
  bool drained_ = true;
  bool hangup_ = false;
  bool ended_ = false;
  bool blocked_ = false;
  bool starved_ = false;
};

}  // namespace pqedge::crypto
