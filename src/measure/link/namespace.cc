#include "measure/link/namespace.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

namespace pqedge::measure::link {

namespace {

constexpr const char* kDevice = "pqcost0";

std::unexpected<Error> needs_root(int code, std::string_view what) {
  if (code == EPERM || code == EACCES) {
    return fail_errno(code,
                      "{}: the emulated link needs root (CAP_SYS_ADMIN for network namespaces, "
                      "CAP_NET_ADMIN for the TUN device)",
                      what);
  }
  return fail_errno(code, "{}", what);
}

Result<void> write_setting(const char* path, std::string_view value) {
  const net::Fd file(::open(path, O_WRONLY | O_CLOEXEC));
  if (!file) return fail_errno(errno, "{}", path);
  if (::write(file.get(), value.data(), value.size()) < 0) return fail_errno(errno, "{}", path);
  return {};
}

// A new namespace may take only what the machine's list allows, and only the first namespace may
// write that list: cubic is added to it here, before. If that fails the kernel's own choice stays,
// and NetworkFacts names what is in force.
void allow_cubic() {
  constexpr const char* kAllowed = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";
  std::string allowed;
  if (!std::getline(std::ifstream(kAllowed), allowed) || allowed.contains("cubic")) return;
  static_cast<void>(write_setting(kAllowed, allowed + " cubic"));
}

class Interface {
 public:
  explicit Interface(const char* name) : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    std::strncpy(request_.ifr_name, name, IFNAMSIZ - 1);
  }
  Result<void> address(unsigned long command, const char* text) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    inet_pton(AF_INET, text, &address.sin_addr);
    std::memcpy(&request_.ifr_addr, &address, sizeof(address));
    return control(command);
  }
  Result<void> mtu(size_t value) {
    request_.ifr_mtu = static_cast<int>(value);
    return control(SIOCSIFMTU);
  }
  Result<void> up() {
    request_.ifr_flags = IFF_UP | IFF_RUNNING;
    return control(SIOCSIFFLAGS);
  }

 private:
  Result<void> control(unsigned long command) {
    if (ioctl(socket_.get(), command, &request_) == 0) return {};
    return fail_errno(errno, "interface {}", request_.ifr_name);
  }
  net::Fd socket_;
  ifreq request_{};
};

Result<net::Fd> open_tun(const End& end) {
  net::Fd tun(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!tun) return needs_root(errno, "/dev/net/tun");
  ifreq request{};
  std::strncpy(request.ifr_name, kDevice, IFNAMSIZ - 1);
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  // Without TUNSETOFFLOAD the kernel cuts segments and writes checksums before they come to us.
  if (ioctl(tun.get(), TUNSETIFF, &request) != 0) return needs_root(errno, "a TUN device");
  Interface device(kDevice);
  if (auto done = device.address(SIOCSIFADDR, end.ip.c_str()); !done) {
    return std::unexpected(done.error());
  }
  if (auto done = device.address(SIOCSIFNETMASK, "255.255.255.252"); !done) {
    return std::unexpected(done.error());
  }
  if (auto done = device.mtu(end.mtu); !done) return std::unexpected(done.error());
  if (auto done = device.up(); !done) return std::unexpected(done.error());
  return tun;
}

Result<void> set_up(const End& end, net::Fd& space, net::Fd& tun) {
  if (unshare(CLONE_NEWNET) != 0) return needs_root(errno, "a network namespace");
  space = net::Fd(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!space) return fail_errno(errno, "/proc/thread-self/ns/net");
  // A kernel without IPv6 has no such file, which is as good.
  static_cast<void>(write_setting("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1"));
  static_cast<void>(write_setting("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1"));
  static_cast<void>(write_setting("/proc/sys/net/ipv4/tcp_congestion_control", "cubic"));
  if (auto set = write_setting("/proc/sys/net/ipv4/tcp_no_metrics_save", "1"); !set) return set;
  // Ports below 1024 for whoever serves here.
  static_cast<void>(write_setting("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0"));
  if (auto up = Interface("lo").up(); !up) return up;
  auto opened = open_tun(end);
  if (!opened) return std::unexpected(opened.error());
  tun = std::move(*opened);
  return {};
}

}  // namespace

Result<Namespace> Namespace::make(const End& end) {
  allow_cubic();
  Namespace made;
  Result<void> done;
  // A thread of its own changes its namespace; this one stays where it is.
  std::thread([&] { done = set_up(end, made.space_, made.tun_); }).join();
  if (!done) return std::unexpected(done.error());
  return made;
}

Result<void> Namespace::enter() const {
  if (setns(space_.get(), CLONE_NEWNET) != 0) return needs_root(errno, "entering a namespace");
  return {};
}

Result<void> Namespace::run(const std::function<Result<void>()>& work) const {
  Result<void> done;
  std::thread([&] {
    done = enter();
    if (done) done = work();
  }).join();
  return done;
}

}  // namespace pqedge::measure::link
