// What a configuration says about QUIC.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"

namespace pqedge::quic {

struct Settings {
  enum class Retry : uint8_t { never, under_load, always };
  Retry retry = Retry::under_load;
  uint32_t retry_above = 1000;   // half-open handshakes a worker, for under_load
  bool active_migration = true;  // false: disable_active_migration is announced; NAT
                                 // rebinding is followed all the same (K17)
  Nanos idle_timeout = 60 * kSecond;
  Nanos handshake_timeout = 10 * kSecond;
  uint64_t stream_window = 256 * 1024;  // initial receive window a stream
  uint64_t stream_window_max = 6 * 1024 * 1024;
  uint64_t connection_window = 1024 * 1024;
  uint64_t connection_window_max = 16 * 1024 * 1024;
  bool gso = true;
  bool gro = true;
  std::string congestion_control = "cubic";  // "cubic", "reno", "bbr"
  int receive_buffer = 4 * 1024 * 1024;      // bytes asked for each UDP socket
  int send_buffer = 4 * 1024 * 1024;
  std::string qlog_directory;  // empty: no qlog
  std::string qlog_client;     // the one IP whose connections are written there
};

}  // namespace pqedge::quic
