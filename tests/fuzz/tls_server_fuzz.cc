// A TLS connection over TCP, as far as a client comes that has no key: every hello that OpenSSL
// takes or refuses, with what this program does around it (certificates, policies, tickets). It
// ends in good order, and never in a handshake that is done.
//
// Input: one byte of choices, one of the size of pieces (0: one piece), then what the client sends;
// with bit 0 of the choices a handshake message, which is put into records here.
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "crypto/certificates.h"
#include "crypto/tickets.h"
#include "crypto/tls.h"
#include "net/loop.h"
#include "net/stream.h"

namespace {

using namespace pqedge;

void require(bool holds) {
  if (!holds) std::abort();
}

template <typename T>
T must(Result<T> result) {
  require(result.has_value());
  return std::move(*result);
}

struct World {
  std::unique_ptr<net::Loop> loop = must(net::Loop::create());
  std::shared_ptr<crypto::ServerContexts> contexts;
  World() {
    const crypto::PemPair pem = must(crypto::make_self_signed({"localhost", "a.test"}));
    auto store = must(crypto::CertificateStore::from_pem(pem.chain, pem.key));
    contexts = must(
        crypto::ServerContexts::create({}, store, crypto::TicketKeyRing::create(3600 * kSecond)));
  }
};

class Handler final : public crypto::HandshakeHandler {
 public:
  void on_handshake_done() override { std::abort(); }
  void on_handshake_failed(const Error& error) override {
    require(!failed && !error.message.empty());
    failed = true;
  }
  bool failed = false;
};

// RFC 8446 5.1, in records of at most `most` bytes.
std::string in_records(std::string_view message, size_t most) {
  std::string out;
  while (!message.empty()) {
    const std::string_view part = message.substr(0, most);
    message.remove_prefix(part.size());
    out.append("\x16\x03\x01", 3);
    out += static_cast<char>(part.size() >> 8);
    out += static_cast<char>(part.size());
    out += part;
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2 || size > 40'000) return 0;
  static World& world = *new World;
  std::string bytes(as_text(Bytes(data + 2, size - 2)));
  if ((data[0] & 1) != 0) bytes = in_records(bytes, (data[0] & 2) != 0 ? 100 : 16384);
  int pair[2];
  require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
  Fd peer(pair[1]);
  Handler handler;
  net::ConnectionFacts facts;
  const crypto::AlpnList alpn = {"h2", "http/1.1"};
  auto stream = crypto::make_tls_server_stream(*world.loop, Fd(pair[0]), world.contexts, facts,
                                               alpn, handler);
  const auto turn = [&] {
    world.loop->run_once(0);
    char room[4096];
    while (peer && ::recv(peer.get(), room, sizeof room, 0) > 0) {
    }
    if (handler.failed) stream.reset();
  };
  const size_t piece = data[1] == 0 ? bytes.size() : size_t{data[1]} * 16;
  for (std::string_view rest = bytes; !rest.empty() && stream != nullptr;) {
    const std::string_view part = rest.substr(0, piece);
    rest.remove_prefix(part.size());
    static_cast<void>(::send(peer.get(), part.data(), part.size(), MSG_NOSIGNAL));
    turn();
  }
  if (stream != nullptr) turn();
  peer.reset();
  for (int i = 0; i < 4 && stream != nullptr; ++i) turn();
  require(stream == nullptr);
  require(facts.sni.size() <= 253);
  return 0;
}
