#include "measure/live/datagrams.h"

#include <openssl/rand.h>
#include <sys/socket.h>

#include <array>
#include <format>
#include <thread>

#include "measure/live/endpoint.h"
#include "measure/live/handshake.h"
#include "measure/wire/ike_message.h"
#include "net/address.h"

namespace pqedge::measure::live {

namespace {

constexpr uint16_t kIkePort = 500;
constexpr size_t kMlKemPublic = 1184;  // FIPS 203 table 3
constexpr size_t kMlKemCiphertext = 1088;
constexpr size_t kCurve = 32;

// Only sizes matter to the path: the keys' bytes are random.
std::vector<uint8_t> key_bytes(uint16_t method, bool answer) {
  size_t size = kCurve;
  if (method == kIkeMlKem768) size = answer ? kMlKemCiphertext : kMlKemPublic;
  std::vector<uint8_t> bytes(size);
  RAND_bytes(bytes.data(), static_cast<int>(size));
  return bytes;
}

Result<net::Fd> bound_socket(const char* ip, uint16_t port) {
  net::Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto address = net::Address::from_ip(ip, port);
  if (!socket || !address || ::bind(socket.get(), address->data(), address->size()) != 0) {
    return fail_errno(errno, "a UDP socket on {}", ip);
  }
  // As IKE daemons do: IP may cut what is too large.
  const int allow = IP_PMTUDISC_DONT;
  setsockopt(socket.get(), IPPROTO_IP, IP_MTU_DISCOVER, &allow, sizeof(allow));
  return socket;
}

void patience(int socket, Nanos timeout) {
  const timeval time{static_cast<time_t>(timeout / kSecond),
                     static_cast<suseconds_t>(timeout % kSecond / 1000)};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
}

void respond(int socket, const std::vector<ExchangeStep>& steps) {
  std::array<uint8_t, 65536> buffer;
  for (const ExchangeStep& step : steps) {
    sockaddr_storage from{};
    socklen_t size = sizeof(from);
    auto* address = reinterpret_cast<sockaddr*>(&from);
    for (size_t i = 0; i < step.request.size(); ++i) {
      if (recvfrom(socket, buffer.data(), buffer.size(), 0, address, &size) < 0) return;
    }
    for (const auto& datagram : step.answer) {
      sendto(socket, datagram.data(), datagram.size(), 0, address, size);
    }
  }
}

Result<void> initiate(int socket, const std::vector<ExchangeStep>& steps, LiveRecord& record) {
  const auto server = net::Address::from_ip(link::kServerIp, kIkePort);
  std::array<uint8_t, 65536> buffer;
  const Nanos start = monotonic_now();
  for (const ExchangeStep& step : steps) {
    for (const auto& datagram : step.request) {
      if (sendto(socket, datagram.data(), datagram.size(), 0, server->data(), server->size()) < 0) {
        return fail_errno(errno, "{}: a datagram of {} bytes", step.name, datagram.size());
      }
      record.bytes.client_to_server += datagram.size();
      ++record.packets.client_to_server;
    }
    for (size_t i = 0; i < step.answer.size(); ++i) {
      const ssize_t size = recv(socket, buffer.data(), buffer.size(), 0);
      if (size < 0) {
        record.outcome = "no answer";
        return fail("{}: no answer to {} datagram(s)", step.name, step.request.size());
      }
      record.bytes.server_to_client += static_cast<size_t>(size);
      ++record.packets.server_to_client;
    }
    record.times_us[step.name] = static_cast<double>(monotonic_now() - start) / 1000;
  }
  record.times_us["finished"] = static_cast<double>(monotonic_now() - start) / 1000;
  return {};
}

}  // namespace

Result<std::vector<ExchangeStep>> ike_steps(uint16_t method, uint16_t additional, size_t largest) {
  const IkeSession session{1, 2, method, additional};
  std::vector<ExchangeStep> steps;
  steps.push_back({.name = "IKE_SA_INIT",
                   .request = {ike_sa_init(session, key_bytes(method, false), false)},
                   .answer = {ike_sa_init(session, key_bytes(method, true), true)}});
  if (additional == 0) return steps;
  ExchangeStep step{.name = "IKE_INTERMEDIATE", .request = {}, .answer = {}};
  for (const bool answer : {false, true}) {
    auto messages = ike_intermediate_within(session, key_bytes(additional, answer), answer,
                                            largest == 0 ? size_t{65000} : largest);
    if (!messages) return std::unexpected(messages.error());
    (answer ? step.answer : step.request) = std::move(*messages);
  }
  steps.push_back(std::move(step));
  return steps;
}

LiveRecord exchange_datagrams(const link::Testbed& testbed, const std::vector<ExchangeStep>& steps,
                              Nanos timeout) {
  LiveRecord record;
  record.target = std::format("{}:{}", link::kServerIp, kIkePort);
  record.transport = "udp";
  record.outcome = "failed";
  record.packets_known = true;
  record.facts["packets"] = "UDP datagrams as they were sent; IP may have cut them";
  record.facts["bytes"] = "of UDP payload";
  for (const ExchangeStep& step : steps) {
    for (const bool answer : {false, true}) {
      size_t& most = record.sizes[step.name + (answer ? " answer, largest datagram"
                                                      : " request, largest datagram")];
      for (const auto& datagram : answer ? step.answer : step.request) {
        most = std::max(most, datagram.size());
      }
    }
  }
  Result<net::Fd> server;
  auto done = testbed.server().run([&]() -> Result<void> {
    server = bound_socket(link::kServerIp, kIkePort);
    return server ? Result<void>{} : std::unexpected(server.error());
  });
  if (done) {
    patience(server->get(), timeout);
    std::thread responder([&] { respond(server->get(), steps); });
    done = testbed.client().run([&]() -> Result<void> {
      const auto socket = bound_socket(link::kClientIp, 0);
      if (!socket) return std::unexpected(socket.error());
      patience(socket->get(), timeout);
      return initiate(socket->get(), steps, record);
    });
    shutdown(server->get(), SHUT_RDWR);  // wakes a responder that waits in vain
    responder.join();
  }
  if (done) {
    record.outcome = kCompleted;
  } else {
    record.facts["error"] = done.error().message;
  }
  return record;
}

}  // namespace pqedge::measure::live
