#include "programs/pqedge/notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <format>
#include <string>

#include "base/text.h"
#include "net/socket.h"

namespace pqedge {

void notify(std::string_view state) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  if (path == nullptr || (path[0] != '/' && path[0] != '@')) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const size_t n = std::strlen(path);
  if (n >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, path, n);
  if (path[0] == '@') address.sun_path[0] = '\0';  // the abstract namespace
  const net::Fd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd) return;
  // Nobody can be told when it fails: the notification is best effort by design.
  [[maybe_unused]] const ssize_t sent =
      sendto(fd.get(), state.data(), state.size(), MSG_NOSIGNAL,
             reinterpret_cast<const sockaddr*>(&address),
             static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + n));
}

void notify_reloading() {
  notify(std::format("RELOADING=1\nMONOTONIC_USEC={}", monotonic_now() / kMicrosecond));
}

Nanos watchdog_interval() {
  const char* text = std::getenv("WATCHDOG_USEC");
  if (text == nullptr) return 0;
  if (const char* pid = std::getenv("WATCHDOG_PID")) {
    const auto n = parse_decimal(pid);
    if (!n || *n != static_cast<uint64_t>(getpid())) return 0;
  }
  const auto micros = parse_decimal(text);
  return micros ? *micros * kMicrosecond / 2 : 0;
}

}  // namespace pqedge
