// Where an HTTP/1.1 answer ends: a reader of its own, so that the generator is a second opinion on
// the proxy's framing (RFC 9112 6.3).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace pqedge::measure::load {

class Http1Answer {
 public:
  enum class State : uint8_t {
    kHead,
    kBody,
    kToEnd,
    kChunkSize,
    kChunk,
    kChunkEnd,
    kTrailers,
    kDone,
    kBroken
  };

  // Ready for the answer to a new request. `has_body` is false for HEAD.
  void begin(bool has_body);

  // Takes bytes up to the end of the answer and returns how many; `body` is set to the body bytes
  // among them, at most one piece a call, so: call again with the rest until it takes nothing.
  size_t take(std::span<const uint8_t> bytes, std::span<const uint8_t>& body);

  // The connection ended: an answer without a length is then complete.
  void on_end();

  State state() const { return state_; }
  bool done() const { return state_ == State::kDone; }
  bool broken() const { return state_ == State::kBroken; }
  bool started() const { return state_ != State::kHead || !line_.empty(); }
  int status() const { return status_; }
  bool closes() const { return closes_; }  // "Connection: close", HTTP/1.0, or no length

 private:
  void read_head(std::string_view head);
  void read_chunk_size(std::string_view line);
  // Collects up to and including `end`; true when it is there, in line_.
  bool collect(std::span<const uint8_t> bytes, std::string_view end, size_t& taken);

  State state_ = State::kHead;
  std::string line_;
  uint64_t left_ = 0;  // of the body or the chunk
  int status_ = 0;
  bool has_body_ = true;
  bool closes_ = false;
};

}  // namespace pqedge::measure::load
