// Reaching the server: its address, a socket, and waits that end at a deadline.
#pragma once

#include <string>

#include "base/result.h"
#include "base/time.h"
#include "measure/live/options.h"
#include "measure/record/record.h"
#include "net/address.h"
#include "net/socket.h"

namespace pqedge::measure::live {

Result<net::Address> resolve(const Options& options);
// Whether the host is written as an address: no server name is sent for one (RFC 6066 3).
bool is_address(const std::string& host);
// What is sent as the server's name; empty: nothing.
std::string server_name(const Options& options);

// A connected non-blocking TCP socket. The error's code is the errno: ECONNREFUSED, ETIMEDOUT, ...
Result<net::Fd> connect_tcp(const net::Address& address, Nanos deadline);

// Waits for poll() events on the socket. ETIMEDOUT when the deadline comes first.
Result<void> wait_for(int socket, short events, Nanos deadline);

// Segments each way and what they were counted by, from TCP_INFO; ms of the path as well.
void read_tcp_info(int socket, LiveRecord& record);

// Sends all of it, or says why not.
Result<void> send_all(int socket, std::string_view bytes, Nanos deadline);
// One more byte of the peer's: byte by byte, so that nothing of what follows is taken along.
Result<char> receive_byte(int socket, Nanos deadline);

}  // namespace pqedge::measure::live
