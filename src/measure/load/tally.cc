#include "measure/load/tally.h"

#include <format>
#include <numeric>

namespace pqedge::measure::load {

namespace {

// Every sum of Traffic, so that none is forgotten in a difference.
constexpr std::array kSums = {
    &Traffic::bytes_sent,         &Traffic::bytes_received, &Traffic::body_bytes,
    &Traffic::send_calls,         &Traffic::receive_calls,  &Traffic::datagrams_sent,
    &Traffic::datagrams_received, &Traffic::ack_only_sent,  &Traffic::without_stream_received,
    &Traffic::gso_sends,          &Traffic::gro_receives,   &Traffic::packets_sent,
    &Traffic::packets_received,   &Traffic::packets_lost,
};
static_assert(sizeof(Traffic) == kSums.size() * sizeof(uint64_t));

}  // namespace

Traffic& Traffic::operator+=(const Traffic& other) {
  for (const auto sum : kSums) this->*sum += other.*sum;
  return *this;
}

Traffic Traffic::operator-(const Traffic& other) const {
  Traffic difference = *this;
  for (const auto sum : kSums) difference.*sum -= other.*sum;
  return difference;
}

std::string_view failure_name(Failure failure) {
  static constexpr std::array<std::string_view, kFailures> kNames = {
      "connect", "handshake", "closed", "reset",      "protocol",
      "timeout", "status",    "body",   "unanswered",
  };
  return kNames[static_cast<size_t>(failure)];
}

void Tally::begin_window(Nanos now) { begin_ = now; }

void Tally::end_window(Nanos now) { end_ = now; }

void Tally::latencies_between(Nanos begin, Nanos end) {
  latencies_begin_ = begin;
  latencies_end_ = end;
}

void Tally::completed(Nanos intended, Nanos sent, Nanos now, int status) {
  ++completed_ever_;
  if (now >= begin_ && now < end_) {
    ++completed_;
    ++statuses_[status];
  }
  if (intended >= latencies_begin_ && intended < latencies_end_) {
    latency_.record(now - intended);
    service_time_.record(now - sent);
  }
}

void Tally::failed(Failure failure, std::string_view detail) {
  ++failures_[static_cast<size_t>(failure)];
  if (first_failure_.empty()) {
    first_failure_ = detail.empty() ? std::string(failure_name(failure))
                                    : std::format("{}: {}", failure_name(failure), detail);
  }
}

void Tally::handshake_done(Nanos duration, bool resumed) {
  ++handshakes_;
  if (resumed) ++resumed_;
  if (begin_ != kNever && end_ == kNever) ++window_handshakes_;
  handshake_time_.record(duration);
}

uint64_t Tally::failures() const {
  return std::accumulate(failures_.begin(), failures_.end(), uint64_t{0});
}

}  // namespace pqedge::measure::load
