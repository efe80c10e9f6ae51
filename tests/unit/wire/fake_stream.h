// A net::Stream in memory: the test is the peer. It feeds input piece by piece, says how much of
// the output is taken, and looks at what was written.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "net/loop.h"
#include "net/stream.h"

namespace pqedge::test {

class FakeStream;

// The peer's end. It outlives the stream.
struct FakePeer {
  std::deque<std::string> input;  // a read never crosses a piece
  bool input_ended = false;       // after the pieces
  bool input_broken = false;      // after the pieces: a read error
  bool truncated = false;         // with input_broken: an end without close_notify
  std::string output;             // what the "kernel" took
  size_t room = SIZE_MAX;         // how much more it takes
  bool output_ended = false;      // shutdown_write() went out
  bool aborted = false;
  bool reading_paused = false;
  bool destroyed = false;
  int writes = 0;  // gathered writes that took something

  std::string take_output() { return std::exchange(output, {}); }

  FakeStream* stream = nullptr;

  // One event of the loop each. Nothing may be fed after end() or fail().
  void feed(std::string_view bytes) {
    input.emplace_back(bytes);
    tell_readable();
  }
  void feed_bytewise(std::string_view bytes) {
    for (const char c : bytes) feed({&c, 1});
  }
  void end() {
    input_ended = true;
    tell_readable();
  }
  void fail(bool without_notify = false) {
    input_broken = true;
    truncated = without_notify;
    tell_readable();
  }
  inline void tell_readable();
  // The kernel takes n bytes more.
  inline void make_room(size_t n);
};

class FakeStream final : public net::Stream {
 public:
  FakeStream(net::Loop& loop, FakePeer& peer)
      : loop_(loop),
        peer_(peer),
        turn_end_([](void* self) { static_cast<FakeStream*>(self)->on_turn_end(); }, this) {
    peer_.stream = this;
  }
  ~FakeStream() override {
    peer_.stream = nullptr;
    peer_.destroyed = true;
  }

  net::IoResult read(MutableBytes into) override {
    if (peer_.aborted) return {net::IoStatus::error};
    if (peer_.input.empty()) {
      if (peer_.input_broken) return {net::IoStatus::error};
      return {peer_.input_ended ? net::IoStatus::end_of_stream : net::IoStatus::would_block};
    }
    std::string& piece = peer_.input.front();
    const size_t n = std::min(piece.size(), into.size());
    std::memcpy(into.data(), piece.data(), n);
    piece.erase(0, n);
    if (piece.empty()) peer_.input.pop_front();
    return {net::IoStatus::ok, n};
  }

  void write(Slice slice) override {
    if (peer_.aborted) return;
    queue_.push(std::move(slice));
    wrote();
  }
  void write_copy(Bytes bytes) override {
    copy_to_slices(bytes, [&](Slice s) { write(std::move(s)); });
  }
  size_t backlog() const override { return queue_.size(); }
  void notify_below(size_t low) override {
    low_ = low;
    above_ = queue_.size() > low;
  }
  void flush() override {
    bool took = false;
    while (!queue_.empty() && peer_.room > 0) {
      const size_t n = std::min(queue_.front().size, peer_.room);
      peer_.output.append(as_text(queue_.front().bytes().first(n)));
      if (peer_.room != SIZE_MAX) peer_.room -= n;
      queue_.consume(n);
      took = true;
    }
    peer_.writes += took ? 1 : 0;
    if (queue_.empty() && shut_) peer_.output_ended = true;
  }
  void shutdown_write() override {
    shut_ = true;
    loop_.defer(turn_end_);
  }
  void abort() override {
    peer_.aborted = true;
    queue_.clear();
    turn_end_.unlink();
  }
  void pause_reading() override { peer_.reading_paused = true; }
  void resume_reading() override {
    peer_.reading_paused = false;
    readable_due_ = true;
    loop_.defer(turn_end_);
  }
  bool truncated() const override { return peer_.truncated; }
  const Error& last_error() const override { return error_; }
  int fd() const override { return -1; }

  void tell_readable() {
    if (!peer_.reading_paused && !peer_.aborted && handler_ != nullptr) handler_->on_readable();
  }
  void tell_error() {
    if (handler_ != nullptr) handler_->on_stream_error(error_);
  }
  void flush_later() { loop_.defer(turn_end_); }

 private:
  void wrote() {
    if (queue_.size() > low_) above_ = true;
    loop_.defer(turn_end_);
  }
  void on_turn_end() {
    flush();
    if (above_ && queue_.size() <= low_) {
      above_ = false;
      if (handler_ != nullptr) handler_->on_writable();
    }
    if (std::exchange(readable_due_, false)) tell_readable();
  }

  net::Loop& loop_;
  FakePeer& peer_;
  SliceQueue queue_;
  size_t low_ = SIZE_MAX;
  bool above_ = false;
  bool shut_ = false;
  bool readable_due_ = false;
  Error error_{"connection reset by the fake peer", 104};
  net::Deferred turn_end_;
};

inline void FakePeer::tell_readable() {
  if (stream != nullptr) stream->tell_readable();
}

inline void FakePeer::make_room(size_t n) {
  room = n;
  if (stream != nullptr) stream->flush_later();
}

// Runs the loop until nothing is left to do at once.
inline void settle(net::Loop& loop) {
  for (int i = 0; i < 8; ++i) loop.run_once(0);
}

}  // namespace pqedge::test
