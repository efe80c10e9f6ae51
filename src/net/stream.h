// A full-duplex byte stream on a loop: plain TCP and Unix sockets here, TLS in `crypto`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/bytes.h"
#include "base/chunk.h"
#include "base/result.h"
#include "net/loop.h"
#include "net/socket.h"

namespace pqedge::net {

// Hears of a stream's readiness. Any call may destroy the stream.
class StreamHandler {
 public:
  // Bytes (or the end, or an error) can be read: call read() until it returns would_block.
  virtual void on_readable() = 0;
  // A write that had been refused (would_block, or a backlog at the limit) can go on.
  virtual void on_writable() = 0;
  // The transport broke. Nothing more comes; destroy the stream.
  virtual void on_stream_error(const Error& error) = 0;
  // A stream made over a connecting socket is connected now (called once, before any other).
  virtual void on_connected() {}

 protected:
  ~StreamHandler() = default;
};

enum class IoStatus : uint8_t { ok, would_block, end_of_stream, error };

struct IoResult {
  IoStatus status;
  size_t size = 0;  // bytes moved when ok
};

// Not thread safe. Writes are collected and leave at the end of the turn in one gathered write
// (flush() sends them at once). Virtual calls are a batch, never a byte.
class Stream {
 public:
  virtual ~Stream() = default;

  void set_handler(StreamHandler* handler) { handler_ = handler; }

  // Reads up to into.size() bytes. `end_of_stream`: the peer closed its direction in good order
  // (TLS: close_notify; a FIN without it is `error` with truncated() true).
  virtual IoResult read(MutableBytes into) = 0;

  // Queues the slice whole, whatever its size, and keeps a reference until it was written.
  // The bound is the caller's: stop when backlog() reaches its limit and wait for on_writable().
  virtual void write(Slice slice) = 0;
  // Queues a copy (heads, frames, small things).
  virtual void write_copy(Bytes bytes) = 0;

  // Bytes queued and not yet given to the kernel.
  virtual size_t backlog() const = 0;
  // on_writable() is called once when the backlog falls to or below `low` after having been above.
  virtual void notify_below(size_t low) = 0;
  virtual void flush() = 0;

  // Sends what is queued and then ends our direction (TLS close_notify, then FIN).
  virtual void shutdown_write() = 0;
  // Drops what is queued and closes with a reset (SO_LINGER 0): a visible failure.
  virtual void abort() = 0;

  // Reading may be paused (back-pressure): no on_readable() until resumed.
  virtual void pause_reading() = 0;
  virtual void resume_reading() = 0;

  virtual bool truncated() const { return false; }
  // The last error's text, for logs.
  virtual const Error& last_error() const = 0;
  virtual int fd() const = 0;

 protected:
  StreamHandler* handler_ = nullptr;
};

// Over a connected (or connecting) socket. Ownership of the descriptor passes here.
std::unique_ptr<Stream> make_plain_stream(Loop& loop, Fd fd);

}  // namespace pqedge::net
