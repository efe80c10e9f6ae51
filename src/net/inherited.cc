#include "net/inherited.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "base/text.h"

namespace pqedge::net {
namespace {

constexpr int kFirst = 3;  // SD_LISTEN_FDS_START
constexpr uint64_t kMost = 1024;

// The descriptors passed to this very process, taken out of the environment.
Result<uint64_t> passed_count(std::string& names) {
  const auto take = [](const char* variable) {
    const char* value = std::getenv(variable);
    std::string text = value == nullptr ? "" : value;
    unsetenv(variable);
    return text;
  };
  const std::string pid = take("LISTEN_PID");
  const std::string count = take("LISTEN_FDS");
  names = take("LISTEN_FDNAMES");
  if (pid.empty() || count.empty()) return uint64_t{0};
  const auto owner = parse_decimal(pid);
  if (!owner) return fail("LISTEN_PID is '{}', not a process ID", pid);
  if (*owner != static_cast<uint64_t>(getpid())) return uint64_t{0};
  const auto n = parse_decimal(count);
  if (!n || *n > kMost) return fail("LISTEN_FDS is '{}', not a number up to {}", count, kMost);
  return *n;
}

std::string next_name(std::string_view& names) {
  const size_t colon = std::min(names.find(':'), names.size());
  std::string name(names.substr(0, colon));
  names.remove_prefix(std::min(colon + 1, names.size()));
  return name.empty() ? "unknown" : name;
}

Result<int> option(int fd, int which) {
  int value = 0;
  socklen_t size = sizeof value;
  if (getsockopt(fd, SOL_SOCKET, which, &value, &size) != 0) {
    return fail_errno(errno, "descriptor {}, passed by the service manager, is no socket", fd);
  }
  return value;
}

Result<InheritedSocket> take(int fd, std::string name) {
  InheritedSocket socket{.fd = Fd(fd), .name = std::move(name)};
  const auto type = option(fd, SO_TYPE);
  if (!type) return std::unexpected(type.error());
  socket.udp = *type == SOCK_DGRAM;
  auto address = local_address(fd);
  if (!address) return std::unexpected(address.error());
  socket.address = std::move(*address);
  const auto listening = option(fd, SO_ACCEPTCONN);
  const bool is_stream = *type == SOCK_STREAM && listening.value_or(0) != 0 &&
                         (socket.address.is_ip() || socket.address.is_unix());
  if (!is_stream && !(socket.udp && socket.address.is_ip())) {
    return fail(
        "the service manager passed '{}' ({}), which is neither a listening stream socket "
        "nor a UDP socket: use ListenStream= without Accept=yes, or ListenDatagram=",
        socket.name, socket.address.to_string());
  }
  if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 ||
      fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) != 0) {
    return fail_errno(errno, "cannot take the socket '{}'", socket.name);
  }
  return socket;
}

}  // namespace

Result<std::vector<InheritedSocket>> take_inherited_sockets() {
  std::string all_names;
  const auto count = passed_count(all_names);
  if (!count) return std::unexpected(count.error());
  std::vector<InheritedSocket> sockets;
  std::string_view names = all_names;
  for (uint64_t i = 0; i < *count; ++i) {
    auto socket = take(kFirst + static_cast<int>(i), next_name(names));
    if (!socket) return std::unexpected(socket.error());
    sockets.push_back(std::move(*socket));
  }
  return sockets;
}

}  // namespace pqedge::net
