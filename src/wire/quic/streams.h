// The streams of one QUIC connection, whichever of its ends we are: what they have to send and in
// which order, and what the peer has of it (RFC 9000 2 to 4).
#pragma once

#include <ngtcp2/ngtcp2.h>

#include <cstdint>
#include <optional>

#include "base/intrusive_list.h"
#include "net/loop.h"
#include "wire/quic/copy_buffer.h"
#include "wire/quic/send_scheduler.h"
#include "wire/quic/stream.h"

namespace pqedge::quic {

class Streams {
 public:
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  // ---- for the application ----
  virtual net::Loop& loop() const = 0;
  virtual CopyBuffer& copies() = 0;
  // The connection is about to end, or has ended: nothing is sent or handed on any more.
  virtual bool closing() const = 0;
  // Something was queued outside of on_received(): packets are written at the end of this turn.
  virtual void wake() = 0;

  // A stream of ours; false when the peer allows no more. `stream` gets its id.
  bool open_unidirectional(Stream& stream);
  bool open_bidirectional(Stream& stream);
  void write(Stream& stream, Slice bytes);
  void write_copy(Stream& stream, Bytes bytes);
  void write_end(Stream& stream);
  void set_precedence(Stream& stream, Precedence p) { scheduler_.set_precedence(stream, p); }
  // Ends our direction abruptly (RESET_STREAM); what was not acknowledged is dropped.
  void reset_write(Stream& stream, uint64_t code);
  // Asks the peer to stop (STOP_SENDING); nothing of the stream is handed on any more.
  void stop_reading(Stream& stream, uint64_t code);
  // Flow-control credit for `n` bytes of the stream, and of the connection.
  void consumed(Stream& stream, size_t n);
  // The stream object of that ID, or null.
  Stream* find_stream(int64_t id) const;
  // When bytes of any stream last went into a packet or were acknowledged.
  Nanos send_progress_at() const { return send_progress_at_; }

 protected:
  Streams() = default;
  ~Streams() = default;

  // The peer opened a stream: its object, or null where it is refused.
  virtual Stream* stream_opened(int64_t id) = 0;
  // A stream that was refused, or opened by us for nobody, has ended.
  virtual void stream_forgotten(int64_t id) = 0;

  // The callbacks that tell of streams. The connection is made with `static_cast<Streams*>(this)`
  // as its user data.
  static void set_stream_callbacks(ngtcp2_callbacks& callbacks);
  // For ngtcp2_conn_write_aggregate_pkt2(): puts as many streams as fit into one packet.
  static ngtcp2_ssize write_packet(ngtcp2_conn* conn, ngtcp2_path* path, ngtcp2_pkt_info* info,
                                   uint8_t* dest, size_t size, ngtcp2_tstamp now, void* self);
  // The object of a stream that the peer opened.
  void adopt(Stream& stream, int64_t id);
  bool nothing_to_send() const { return scheduler_.empty(); }
  // After packets were written: on_send_progress() of the streams that made some.
  void tell_progress();
  // The connection is over: no call reaches a stream any more.
  void forget_progress();

  ngtcp2_conn* conn_ = nullptr;
  bool reading_ = false;  // inside ngtcp2_conn_read_pkt

 private:
  bool opened(Stream& stream, int status);
  void schedule(Stream& stream);
  ngtcp2_ssize fill_packet(ngtcp2_path* path, ngtcp2_pkt_info* info, uint8_t* dest, size_t size,
                           ngtcp2_tstamp now);
  Stream* next_writable();
  void took(Stream& stream, size_t n, bool end, ngtcp2_tstamp now);
  void acknowledged(Stream& stream, uint64_t n);
  void unblocked(Stream& stream);
  void stream_closed(Stream& stream, std::optional<uint64_t> code);

  SendScheduler scheduler_;
  IntrusiveList<Stream, ProgressTag> progressed_;
  Nanos send_progress_at_ = 0;
};

}  // namespace pqedge::quic
