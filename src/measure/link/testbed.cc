#include "measure/link/testbed.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <vector>

#include "measure/stats/summary.h"
#include "net/address.h"

namespace pqedge::measure::link {

namespace {

constexpr uint16_t kEchoPort = 7;  // RFC 862
constexpr size_t kPacketsATurn = 64;

Result<net::Fd> udp_socket(const char* ip, uint16_t port) {
  net::Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto address = net::Address::from_ip(ip, port);
  if (!socket || !address || ::bind(socket.get(), address->data(), address->size()) != 0) {
    return fail_errno(errno, "a UDP socket on {}", ip);
  }
  const timeval patience{2, 0};
  setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  return socket;
}

void echo(int socket, size_t count) {
  std::array<uint8_t, 64> buffer;
  for (size_t i = 0; i < count; ++i) {
    sockaddr_storage from{};
    socklen_t size = sizeof(from);
    auto* address = reinterpret_cast<sockaddr*>(&from);
    const ssize_t got = recvfrom(socket, buffer.data(), buffer.size(), 0, address, &size);
    if (got < 0) return;
    sendto(socket, buffer.data(), static_cast<size_t>(got), 0, address, size);
  }
}

Result<void> ask(int socket, size_t count, std::vector<double>& one_way_us) {
  const auto server = net::Address::from_ip(kServerIp, kEchoPort);
  std::array<uint8_t, 64> buffer{};
  for (size_t i = 0; i < count; ++i) {
    const Nanos before = monotonic_now();
    sendto(socket, buffer.data(), buffer.size(), 0, server->data(), server->size());
    if (recv(socket, buffer.data(), buffer.size(), 0) < 0) {
      return fail_errno(errno, "an echo over the emulated link did not come back");
    }
    one_way_us.push_back(static_cast<double>(monotonic_now() - before) / 2000);
  }
  return {};
}

}  // namespace

std::string Testbed::emulator_name() {
  return "pqcost TUN relay in user space; added delay: half of the round trip of UDP echoes over "
         "the link with nothing set, the sockets' own cost included";
}

Testbed::Testbed(Namespace client, Namespace server)
    : client_(std::move(client)), server_(std::move(server)), wake_(eventfd(0, EFD_CLOEXEC)) {}

Result<std::unique_ptr<Testbed>> Testbed::make(const TestbedOptions& options) {
  auto client = Namespace::make({kClientIp, kServerIp, options.client_mtu});
  if (!client) return std::unexpected(client.error());
  auto server = Namespace::make({kServerIp, kClientIp, options.server_mtu});
  if (!server) return std::unexpected(server.error());
  std::unique_ptr<Testbed> made(new Testbed(std::move(*client), std::move(*server)));
  if (!made->wake_) return fail_errno(errno, "eventfd");
  made->set({});
  made->thread_ = std::thread([raw = made.get()] { raw->relay(); });
  return made;
}

Testbed::~Testbed() {
  end_ = true;
  const uint64_t one = 1;
  static_cast<void>(!::write(wake_.get(), &one, sizeof(one)));
  if (thread_.joinable()) thread_.join();
}

void Testbed::set(const Settings& settings) {
  {
    const std::scoped_lock guard(lock_);
    up_ = std::make_unique<Link>(settings.up, settings.seed, 1);
    down_ = std::make_unique<Link>(settings.down, settings.seed, 2);
    lateness_ = {};
  }
  const uint64_t one = 1;
  static_cast<void>(!::write(wake_.get(), &one, sizeof(one)));
}

std::pair<Counters, Counters> Testbed::counters() {
  const std::scoped_lock guard(lock_);
  return {up_->counters(), down_->counters()};
}

load::Histogram Testbed::lateness() {
  const std::scoped_lock guard(lock_);
  return lateness_;
}

void Testbed::drain(int from, int to, Link& link) {
  std::array<uint8_t, 65536> buffer;
  for (size_t i = 0; i < kPacketsATurn; ++i) {
    const ssize_t size = ::read(from, buffer.data(), buffer.size());
    if (size <= 0) return;
    const Nanos now = monotonic_now();
    link.offer(Bytes(buffer.data(), static_cast<size_t>(size)), now);
    while (const auto answer = link.take_answer()) {
      static_cast<void>(!::write(from, answer->data(), answer->size()));
    }
    deliver(to, link);
  }
}

void Testbed::deliver(int to, Link& link) {
  while (const auto packet = link.take(monotonic_now())) {
    static_cast<void>(!::write(to, packet->packet.data(), packet->packet.size()));
    lateness_.record(monotonic_now() - packet->due);
  }
}

void Testbed::relay() {
  prctl(PR_SET_TIMERSLACK, 1UL);
  while (!end_) {
    Nanos next = kNever;
    {
      const std::scoped_lock guard(lock_);
      next = std::min(up_->next(), down_->next());
    }
    const Nanos now = monotonic_now();
    const Nanos pause = next == kNever ? kSecond : (next > now ? next - now : 0);
    const timespec timeout{static_cast<time_t>(pause / kSecond),
                           static_cast<long>(pause % kSecond)};
    std::array<pollfd, 3> watched{pollfd{client_.tun(), POLLIN, 0},
                                  pollfd{server_.tun(), POLLIN, 0}, pollfd{wake_.get(), POLLIN, 0}};
    ppoll(watched.data(), watched.size(), &timeout, nullptr);
    if (watched[2].revents != 0) {
      uint64_t count = 0;
      static_cast<void>(!::read(wake_.get(), &count, sizeof(count)));
    }
    const std::scoped_lock guard(lock_);
    deliver(server_.tun(), *up_);
    deliver(client_.tun(), *down_);
    if (watched[0].revents != 0) drain(client_.tun(), server_.tun(), *up_);
    if (watched[1].revents != 0) drain(server_.tun(), client_.tun(), *down_);
  }
}

Result<AddedDelay> Testbed::measure_added_delay(size_t samples) {
  set({});
  Result<net::Fd> server;
  std::vector<double> one_way;
  auto served = server_.run([&]() -> Result<void> {
    server = udp_socket(kServerIp, kEchoPort);
    return server ? Result<void>{} : std::unexpected(server.error());
  });
  if (!served) return std::unexpected(served.error());
  std::thread echoing([&] { echo(server->get(), samples); });
  const auto asked = client_.run([&]() -> Result<void> {
    const auto socket = udp_socket(kClientIp, 0);
    if (!socket) return std::unexpected(socket.error());
    return ask(socket->get(), samples, one_way);
  });
  echoing.join();
  if (!asked) return std::unexpected(asked.error());
  std::ranges::sort(one_way);
  return AddedDelay{percentile(one_way, 50), percentile(one_way, 99), one_way.size()};
}

}  // namespace pqedge::measure::link
