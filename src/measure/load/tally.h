// What a run counted: outcomes, latencies, traffic.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/time.h"
#include "measure/load/histogram.h"

namespace pqedge::measure::load {

enum class Failure : uint8_t {
  kConnect,    // no connection: refused, unreachable, too slow
  kHandshake,  // TLS or QUIC failed
  kClosed,     // the connection ended before the answer did
  kReset,      // the stream was reset
  kProtocol,   // an answer that cannot be read
  kTimeout,    // no complete answer in time
  kStatus,     // not the expected status
  kBody,       // not the expected size or digest
  kUnanswered  // still open when the run ended
};
inline constexpr size_t kFailures = 9;
std::string_view failure_name(Failure failure);

// Plain sums, so that the measuring window is the difference of two readings.
struct Traffic {
  uint64_t bytes_sent = 0;  // of TCP or UDP payload
  uint64_t bytes_received = 0;
  uint64_t body_bytes = 0;  // received, of answers
  uint64_t send_calls = 0;  // system calls that moved bytes
  uint64_t receive_calls = 0;

  // HTTP/3 only.
  uint64_t datagrams_sent = 0;
  uint64_t datagrams_received = 0;
  uint64_t ack_only_sent = 0;            // datagrams that elicit no acknowledgement
  uint64_t without_stream_received = 0;  // datagrams that carried no stream data
  uint64_t gso_sends = 0;                // calls that sent several datagrams
  uint64_t gro_receives = 0;             // messages that held several datagrams
  uint64_t packets_sent = 0;             // QUIC packets: several may share a datagram
  uint64_t packets_received = 0;
  uint64_t packets_lost = 0;

  Traffic& operator+=(const Traffic& other);
  Traffic operator-(const Traffic& other) const;
};

class Tally {
 public:
  Traffic traffic;

  // Outcomes are counted inside the measuring window only. Latencies go by the time at which the
  // request was meant to be sent: a slow answer that comes after the window's end still belongs to
  // it. Failures count always: a run with one is no result.
  void begin_window(Nanos now);
  void end_window(Nanos now);
  // The times between which a request is meant to be sent for its latency to count: the window as
  // it was planned, so that an open loop has as many latencies as it offered requests.
  void latencies_between(Nanos begin, Nanos end);

  void completed(Nanos intended, Nanos sent, Nanos now, int status);
  void failed(Failure failure, std::string_view detail = {});
  void retried() { ++retried_; }
  void handshake_done(Nanos duration, bool resumed);

  uint64_t completed_ever() const { return completed_ever_; }
  uint64_t completed_in_window() const { return completed_; }
  const std::map<int, uint64_t>& statuses() const { return statuses_; }
  uint64_t failures(Failure failure) const { return failures_[static_cast<size_t>(failure)]; }
  uint64_t failures() const;
  const std::string& first_failure() const { return first_failure_; }
  uint64_t requests_retried() const { return retried_; }
  const Histogram& latency() const { return latency_; }
  const Histogram& service_time() const { return service_time_; }
  const Histogram& handshake_time() const { return handshake_time_; }
  uint64_t handshakes() const { return handshakes_; }
  uint64_t handshakes_in_window() const { return window_handshakes_; }
  uint64_t resumed() const { return resumed_; }

 private:
  Nanos begin_ = kNever;
  Nanos end_ = kNever;
  Nanos latencies_begin_ = kNever;
  Nanos latencies_end_ = kNever;
  uint64_t completed_ever_ = 0;
  uint64_t completed_ = 0;
  uint64_t retried_ = 0;
  uint64_t handshakes_ = 0;
  uint64_t window_handshakes_ = 0;
  uint64_t resumed_ = 0;
  std::map<int, uint64_t> statuses_;
  std::array<uint64_t, kFailures> failures_{};
  std::string first_failure_;
  Histogram latency_;       // from the intended time
  Histogram service_time_;  // from the time it was handed to the connection
  Histogram handshake_time_;
};

}  // namespace pqedge::measure::load
