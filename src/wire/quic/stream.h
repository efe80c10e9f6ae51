// One QUIC stream as an application sees it, and its place in the order of sending.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/intrusive_list.h"
#include "base/time.h"
#include "wire/quic/send_queue.h"

namespace pqedge::quic {

class Streams;

constexpr bool is_bidirectional(int64_t id) { return (id & 2) == 0; }
constexpr bool is_client_initiated(int64_t id) { return (id & 1) == 0; }

// Precedence in sending. Streams the connection cannot do without come first; the rest is the
// model of RFC 9218 section 4.
struct Precedence {
  static constexpr uint8_t kLevels = 9;  // critical streams and eight urgencies
  static constexpr uint8_t kCritical = 0;
  uint8_t level = 1 + 3;  // 1 + urgency
  bool incremental = false;
};

struct SendTag;
struct ProgressTag;

// Base of an application's stream object. The application makes it (ConnectionHandler::make_stream,
// Streams::open_bidirectional) and owns it; the connection keeps a pointer until
// on_stream_closed(), or until the connection itself is closed.
//
// on_data, on_peer_reset and on_stream_closed come while a datagram is taken apart: the connection
// may be written to, but no stream object may be destroyed in them except by on_stream_closed its
// own.
class Stream : public ListNode<SendTag>, public ListNode<ProgressTag> {
 public:
  // Bytes in order; they are gone after the call. Credit is given with Streams::consumed().
  virtual void on_data(Bytes bytes, bool end) = 0;
  // RESET_STREAM came: nothing more arrives.
  virtual void on_peer_reset(uint64_t code) = 0;
  // Both directions are over and acknowledged; the last call. `code` is that of the first reset or
  // STOP_SENDING, from either side, if there was one.
  virtual void on_stream_closed(std::optional<uint64_t> code) = 0;
  // Outside of all other calls, after packets were written: backlog() fell to the low-water mark,
  // or the end of the stream went out.
  virtual void on_send_progress() = 0;

  int64_t id() const { return id_; }
  const SendQueue& queue() const { return queue_; }
  bool end_sent() const { return end_sent_; }
  Precedence precedence() const { return precedence_; }
  uint64_t bytes_received() const { return bytes_received_; }
  uint64_t bytes_sent() const { return bytes_sent_; }  // without retransmissions

  // Bytes not yet in a packet. What is in packets is bounded by the congestion window and so by
  // what the path carries; beyond kMaxUnacknowledged it counts too, since it is memory all the
  // same.
  size_t backlog() const {
    const size_t held = queue_.unacknowledged();
    return queue_.unsent() + (held > kMaxUnacknowledged ? held - kMaxUnacknowledged : 0);
  }
  static constexpr size_t kMaxUnacknowledged = 8 * 1024 * 1024;
  static constexpr size_t kLowWater = 32 * 1024;

  // When something of it last went into a packet or was acknowledged.
  Nanos send_progress_at() const { return send_progress_at_; }
  // Its own window, not the connection's, holds it up.
  bool blocked_by_window() const { return blocked_ && !write_closed_; }

 protected:
  Stream() = default;
  ~Stream() = default;

 private:
  friend class Streams;
  friend class SendScheduler;
  friend class SchedulerTest;
  SendQueue queue_;
  int64_t id_ = -1;
  uint64_t bytes_received_ = 0;
  uint64_t bytes_sent_ = 0;
  Nanos send_progress_at_ = 0;
  Precedence precedence_;
  bool end_queued_ = false;
  bool end_sent_ = false;
  bool write_closed_ = false;   // reset by us or stopped by the peer: nothing more is sent
  bool blocked_ = false;        // by the stream's flow control, until its window is extended
  bool was_above_low_ = false;  // on_send_progress() is owed when the backlog has drained
};

}  // namespace pqedge::quic
