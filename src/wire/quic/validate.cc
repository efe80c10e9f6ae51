#include "wire/quic/validate.h"

namespace pqedge::quic {

Problems validate(const Settings& s) {
  constexpr uint64_t kKiB = 1024;
  constexpr uint64_t kGiB = 1024 * 1024 * kKiB;
  Problems out;
  check_count(out, "quic.retry_above", s.retry_above, 1, 1'000'000);
  check_duration(out, "quic.idle_timeout", s.idle_timeout, kSecond, kHour);
  check_duration(out, "quic.handshake_timeout", s.handshake_timeout, 100 * kMillisecond, kHour);
  // Below one datagram's worth a stream would stop at every packet.
  check_size(out, "quic.stream_window", s.stream_window, 16 * kKiB, kGiB);
  check_size(out, "quic.connection_window", s.connection_window, 16 * kKiB, kGiB);
  check_size(out, "quic.stream_window_max", s.stream_window_max, s.stream_window, kGiB);
  check_size(out, "quic.connection_window_max", s.connection_window_max, s.connection_window, kGiB);
  check_size(out, "quic.receive_buffer", static_cast<uint64_t>(s.receive_buffer), 64 * kKiB, kGiB);
  check_size(out, "quic.send_buffer", static_cast<uint64_t>(s.send_buffer), 64 * kKiB, kGiB);
  return out;
}

}  // namespace pqedge::quic
