// What a process gives to the one that takes its place (an upgrade): sockets that are not closed
// meanwhile, the keys that clients' tokens and tickets are made with, and a way for QUIC datagrams.
//
// It is a row of messages over a pair of sockets, each with a kind, so that two versions of the
// program understand each other as far as they can: a kind that is not known is skipped, unless its
// highest bit says that it must not be.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "crypto/tickets.h"
#include "edge/run_time_state.h"
#include "net/address.h"
#include "net/inherited.h"
#include "net/socket.h"

namespace pqedge::edge {

struct PassedSocket {
  enum class Use : uint8_t { stream = 1, udp = 2, admin = 3, control = 4 };
  Use use = Use::stream;
  net::Address address;  // as configured: what the new configuration is compared with
  uint16_t worker = 0;   // whose it was
  net::Fd fd;
};

struct Handover {
  Handover() = default;
  Handover(Handover&&) = default;
  Handover& operator=(Handover&&) = default;
  ~Handover();  // wipes the keys

  pid_t process = 0;        // that gives
  uint16_t generation = 0;  // of that process
  uint16_t workers = 0;
  uint32_t workers_asked = 0;  // what the configuration said that decided it
  std::array<uint8_t, 32> quic_secret{};
  std::vector<crypto::TicketKey> ticket_keys;
  std::vector<PassedSocket> sockets;
  std::vector<net::InheritedSocket> inherited;  // of the service manager
  std::vector<net::Fd> links;                   // the new process's ends, one a worker
  RunTimeState state;                           // of pools and canaries
};

inline constexpr Nanos kHandoverTimeout = 10 * kSecond;

Result<void> send_handover(int channel, const Handover& handover);
Result<Handover> receive_handover(int channel);

// Afterwards, the new process: it serves, and will read these UDP sockets, once it may.
Result<void> send_ready(int channel, const std::vector<std::string>& udp);
Result<std::vector<std::string>> receive_ready(int channel);
// Instead: why it cannot. What receive_ready() fails with then.
void send_failure(int channel, std::string_view why);
// And the old one: it reads them no more. `go`: false: it goes on serving, and the other must end.
Result<void> send_verdict(int channel, bool go);
// True also where the old process is gone.
Result<bool> receive_verdict(int channel);

}  // namespace pqedge::edge
