// Datagrams into a listener. The input is a row of datagrams, each with its size in two bytes
// before it. Seeds are first flights of real clients: their Initials can be decrypted by anyone.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "base/bytes.h"
#include "crypto/certificates.h"
#include "crypto/tickets.h"
#include "net/loop.h"
#include "net/socket.h"
#include "wire/http3/listener.h"

namespace {

using namespace pqedge;

template <typename T>
T must(Result<T> result) {
  if (!result) std::abort();
  return std::move(*result);
}

// No handshake can complete: the client's answers would have to fit the server's random.
class Acceptor final : public http3::Acceptor {
  Verdict admit(const net::Address&) override { return Verdict::accept; }
  http::ServerConnectionHandler& on_http3_connection(std::unique_ptr<http::ServerConnection>,
                                                     const net::ConnectionFacts&) override {
    std::abort();
  }
  void hand_over(const quic::Owner&, const quic::ReceivedDatagram&) override {}
};

struct World {
  std::unique_ptr<net::Loop> loop = must(net::Loop::create());
  std::shared_ptr<crypto::ServerContexts> contexts;
  std::shared_ptr<const quic::Keys> keys;
  net::Address loopback = must(net::Address::from_ip("127.0.0.1", 0));
  net::UdpSocket sink;  // where answers go
  net::Address peer;

  World() {
    const crypto::PemPair pem = must(crypto::make_self_signed({"localhost"}));
    auto store = must(crypto::CertificateStore::from_pem(pem.chain, pem.key));
    contexts = must(
        crypto::ServerContexts::create({}, store, crypto::TicketKeyRing::create(3600 * kSecond)));
    const uint8_t secret[32] = {1};
    keys = std::make_shared<quic::Keys>(must(quic::Keys::from_secret(secret)));
    sink = must(net::bind_udp(loopback, {.reuse_port = false}, 65536, 65536));
    peer = must(net::local_address(sink.fd.get()));
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static World world;
  Acceptor acceptor;
  http3::Listener::Options options;
  options.socket = must(net::bind_udp(world.loopback, {.reuse_port = false}, 65536, 65536));
  options.local = must(net::local_address(options.socket.fd.get()));
  options.keys = world.keys;
  options.limits = std::make_shared<http::Limits>();
  const net::Address local = options.local;
  auto listener =
      must(http3::Listener::create(*world.loop, std::move(options), world.contexts, acceptor));
  for (Bytes in{data, size}; in.size() > 2;) {
    const size_t n = std::min<size_t>(load_be16(in.data()), in.size() - 2);
    const Bytes datagram = in.subspan(2, n);
    in = in.subspan(2 + n);
    if (datagram.empty()) continue;
    listener->receive_handed_over({.bytes = datagram, .peer = world.peer, .local = local});
    world.loop->run_once(0);
  }
  return 0;
}
