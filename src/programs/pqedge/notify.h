// systemd's notification protocol (sd_notify(3)): a datagram to the socket in NOTIFY_SOCKET.
#pragma once

#include <string_view>

#include "base/time.h"

namespace pqedge {

// Does nothing when the process was not started by systemd with Type=notify.
void notify(std::string_view state);  // "READY=1", "STOPPING=1", "WATCHDOG=1", ...
// "RELOADING=1" with the monotonic time that Type=notify-reload wants.
void notify_reloading();
// Half of WATCHDOG_USEC, or 0 when there is no watchdog for this process.
Nanos watchdog_interval();

}  // namespace pqedge
