#include "wire/quic/streams.h"

#include <algorithm>
#include <array>
#include <utility>

namespace pqedge::quic {
namespace {

constexpr size_t kMaxVectors = 16;  // slices of one stream in one packet

Streams& self(void* user_data) { return *static_cast<Streams*>(user_data); }
Stream* stream_of(void* stream_user_data) { return static_cast<Stream*>(stream_user_data); }

}  // namespace

// ---- for the application ------------------------------------------------------------------------

bool Streams::opened(Stream& stream, int status) {
  if (status != 0) return false;
  stream.send_progress_at_ = loop().now();
  return true;
}

bool Streams::open_unidirectional(Stream& stream) {
  if (closing()) return false;
  return opened(stream, ngtcp2_conn_open_uni_stream(conn_, &stream.id_, &stream));
}

bool Streams::open_bidirectional(Stream& stream) {
  if (closing()) return false;
  return opened(stream, ngtcp2_conn_open_bidi_stream(conn_, &stream.id_, &stream));
}

void Streams::adopt(Stream& stream, int64_t id) {
  stream.id_ = id;
  stream.send_progress_at_ = loop().now();
}

void Streams::schedule(Stream& stream) {
  if (stream.write_closed_ || stream.end_sent_) return;
  const bool has_bytes = stream.queue_.unsent() > 0 && !stream.blocked_;
  const bool has_end = stream.end_queued_ && stream.queue_.unsent() == 0;
  if (has_bytes || has_end) {
    scheduler_.add(stream);
    wake();
  }
}

void Streams::write(Stream& stream, Slice bytes) {
  if (closing() || stream.write_closed_ || stream.end_queued_) return;
  if (stream.queue_.unsent() == 0) stream.send_progress_at_ = loop().now();
  stream.queue_.push(std::move(bytes));
  if (stream.backlog() > Stream::kLowWater) stream.was_above_low_ = true;
  schedule(stream);
}

void Streams::write_copy(Stream& stream, Bytes bytes) {
  copies().copy(bytes, [&](Slice piece) { write(stream, std::move(piece)); });
}

void Streams::write_end(Stream& stream) {
  if (closing() || stream.write_closed_) return;
  stream.end_queued_ = true;
  schedule(stream);
}

void Streams::reset_write(Stream& stream, uint64_t code) {
  if (closing() || stream.write_closed_) return;
  scheduler_.remove(stream);
  stream.write_closed_ = true;
  stream.queue_.drop_unsent();
  ngtcp2_conn_shutdown_stream_write(conn_, 0, stream.id_, code);
  wake();
}

void Streams::stop_reading(Stream& stream, uint64_t code) {
  if (closing()) return;
  ngtcp2_conn_shutdown_stream_read(conn_, 0, stream.id_, code);
  wake();
}

void Streams::consumed(Stream& stream, size_t n) {
  if (closing() || n == 0) return;
  ngtcp2_conn_extend_max_stream_offset(conn_, stream.id_, n);
  ngtcp2_conn_extend_max_offset(conn_, n);
  // Within a turn's reading the packets that follow carry it; later, a window that has shrunk to
  // its half is worth one.
  if (!reading_) wake();
}

Stream* Streams::find_stream(int64_t id) const {
  return closing() ? nullptr : stream_of(ngtcp2_conn_get_stream_user_data(conn_, id));
}

// ---- packets ------------------------------------------------------------------------------------

ngtcp2_ssize Streams::write_packet(ngtcp2_conn*, ngtcp2_path* path, ngtcp2_pkt_info* info,
                                   uint8_t* dest, size_t size, ngtcp2_tstamp now, void* user_data) {
  return self(user_data).fill_packet(path, info, dest, size, now);
}

ngtcp2_ssize Streams::fill_packet(ngtcp2_path* path, ngtcp2_pkt_info* info, uint8_t* dest,
                                  size_t size, ngtcp2_tstamp now) {
  for (;;) {
    Stream* stream = next_writable();
    if (stream == nullptr) {
      return ngtcp2_conn_writev_stream(conn_, path, info, dest, size, nullptr,
                                       NGTCP2_WRITE_STREAM_FLAG_NONE, -1, nullptr, 0, now);
    }
    std::array<ngtcp2_vec, kMaxVectors> vectors;
    const size_t count = stream->queue_.gather(vectors.data(), vectors.size());
    size_t offered = 0;
    for (size_t i = 0; i < count; ++i) offered += vectors[i].len;
    const bool whole = offered == stream->queue_.unsent();
    uint32_t flags = NGTCP2_WRITE_STREAM_FLAG_MORE;
    if (whole && stream->end_queued_) flags |= NGTCP2_WRITE_STREAM_FLAG_FIN;
    // GSO wants all packets but the last of one size: this one is full in any case.
    if (offered >= size) flags |= NGTCP2_WRITE_STREAM_FLAG_PADDING;

    ngtcp2_ssize taken = -1;
    const ngtcp2_ssize n = ngtcp2_conn_writev_stream(conn_, path, info, dest, size, &taken, flags,
                                                     stream->id_, vectors.data(), count, now);
    if (taken >= 0) {
      const auto bytes = static_cast<size_t>(taken);
      took(*stream, bytes, (flags & NGTCP2_WRITE_STREAM_FLAG_FIN) != 0 && bytes == offered, now);
    }
    switch (n) {
      case NGTCP2_ERR_WRITE_MORE: continue;
      case NGTCP2_ERR_STREAM_DATA_BLOCKED:
        stream->blocked_ = true;
        scheduler_.remove(*stream);
        continue;
      case NGTCP2_ERR_STREAM_SHUT_WR:  // the peer sent STOP_SENDING
      case NGTCP2_ERR_STREAM_NOT_FOUND:
        stream->write_closed_ = true;
        stream->queue_.drop_unsent();
        scheduler_.remove(*stream);
        continue;
      default: return n;
    }
  }
}

// With the connection's window used up only ends of streams can go; DATA_BLOCKED went with the
// packet that used it up.
Stream* Streams::next_writable() {
  Stream* stream = scheduler_.next();
  if (stream == nullptr || ngtcp2_conn_get_max_data_left(conn_) > 0) return stream;
  return stream->queue_.unsent() == 0 ? stream : nullptr;
}

void Streams::took(Stream& stream, size_t n, bool end, ngtcp2_tstamp now) {
  stream.queue_.sent(n);
  stream.bytes_sent_ += n;
  stream.send_progress_at_ = send_progress_at_ = now;
  if (end) stream.end_sent_ = true;
  if (stream.queue_.unsent() == 0 && (end || !stream.end_queued_)) {
    scheduler_.remove(stream);
  } else {
    scheduler_.took_turn(stream);
  }
  const bool drained = stream.was_above_low_ && stream.backlog() <= Stream::kLowWater;
  if (end || drained) progressed_.push_back(stream);
}

void Streams::tell_progress() {
  IntrusiveList<Stream, ProgressTag> batch;
  batch.splice_back(progressed_);
  while (!batch.empty()) {
    Stream& stream = batch.pop_front();
    stream.was_above_low_ = stream.backlog() > Stream::kLowWater;
    stream.on_send_progress();
  }
}

void Streams::forget_progress() {
  while (!progressed_.empty()) progressed_.pop_front();
}

// ---- what the peer says -------------------------------------------------------------------------

void Streams::acknowledged(Stream& stream, uint64_t n) {
  stream.queue_.acknowledged(std::min<size_t>(n, stream.queue_.unacknowledged()));
  stream.send_progress_at_ = send_progress_at_ = loop().now();
  if (stream.was_above_low_ && stream.backlog() <= Stream::kLowWater) {
    progressed_.push_back(stream);
    wake();
  }
}

void Streams::unblocked(Stream& stream) {
  if (!stream.blocked_) return;
  stream.blocked_ = false;
  schedule(stream);
}

void Streams::stream_closed(Stream& stream, std::optional<uint64_t> code) {
  scheduler_.remove(stream);
  static_cast<ListNode<ProgressTag>&>(stream).unlink();
  stream.queue_.clear();
  stream.write_closed_ = true;
  stream.on_stream_closed(code);
}

void Streams::set_stream_callbacks(ngtcp2_callbacks& c) {
  c.stream_open = [](ngtcp2_conn* conn, int64_t id, void* user) {
    ngtcp2_conn_set_stream_user_data(conn, id, self(user).stream_opened(id));
    return 0;
  };
  c.recv_stream_data = [](ngtcp2_conn* conn, uint32_t flags, int64_t, uint64_t, const uint8_t* data,
                          size_t size, void* user, void* stream_user) {
    Stream* stream = stream_of(stream_user);
    if (stream == nullptr) {  // refused
      ngtcp2_conn_extend_max_offset(conn, size);
      return 0;
    }
    stream->bytes_received_ += size;
    stream->on_data({data, size}, (flags & NGTCP2_STREAM_DATA_FLAG_FIN) != 0);
    return self(user).closing() ? NGTCP2_ERR_CALLBACK_FAILURE : 0;
  };
  c.stream_reset = [](ngtcp2_conn*, int64_t, uint64_t, uint64_t code, void* user,
                      void* stream_user) {
    if (Stream* stream = stream_of(stream_user); stream != nullptr) stream->on_peer_reset(code);
    return self(user).closing() ? NGTCP2_ERR_CALLBACK_FAILURE : 0;
  };
  c.stream_close = [](ngtcp2_conn*, uint32_t flags, int64_t id, uint64_t code, void* user,
                      void* stream_user) {
    Stream* stream = stream_of(stream_user);
    if (stream == nullptr) {
      self(user).stream_forgotten(id);
      return 0;
    }
    self(user).stream_closed(*stream, (flags & NGTCP2_STREAM_CLOSE_FLAG_APP_ERROR_CODE_SET) != 0
                                          ? std::optional(code)
                                          : std::nullopt);
    return 0;
  };
  c.acked_stream_data_offset = [](ngtcp2_conn*, int64_t, uint64_t, uint64_t size, void* user,
                                  void* stream_user) {
    if (Stream* stream = stream_of(stream_user); stream != nullptr) {
      self(user).acknowledged(*stream, size);
    }
    return 0;
  };
  c.extend_max_stream_data = [](ngtcp2_conn*, int64_t, uint64_t, void* user, void* stream_user) {
    if (Stream* stream = stream_of(stream_user); stream != nullptr) {
      self(user).unblocked(*stream);
    }
    return 0;
  };
}

}  // namespace pqedge::quic
