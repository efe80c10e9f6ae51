// package: gtest
//
// Whole exchanges whose client speaks HTTP/3: as exchange_fuzz, over a QUIC connection on this
// machine, since HTTP/3 has no streams without one. The handshake is real, what is on the streams
// is the input.
//
// Input: one byte of choices (bit 1: backends that speak HTTP/2 send their SETTINGS by themselves),
// then a script (fuzz/exchange/script.h), whose client has two kinds of step more:
//   s  bytes on its control stream, after its SETTINGS      q  bytes on its QPACK encoder stream
// 'c' is bytes of the first request stream; the payload of 'e' and 'x' is the number of the stream
// that ends or is reset.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "crypto/certificates.h"
#include "crypto/tickets.h"
#include "edge/worker.h"
#include "fuzz/exchange/backends.h"
#include "fuzz/exchange/http3_message.h"
#include "fuzz/exchange/ledger.h"
#include "fuzz/exchange/play.h"
#include "fuzz/exchange/script.h"
#include "fuzz/exchange/world.h"
#include "unit/wire/quic_test_client.cc"
#include "wire/http3/listener.h"
#include "wire/quic/stream.h"

namespace {

using namespace pqedge;
using namespace pqedge::fuzz;
using wire_test::QuicTestClient;

constexpr uint8_t kPrefaces = 2;

struct Tls {
  std::shared_ptr<crypto::ServerContexts> contexts;
  std::shared_ptr<const quic::Keys> keys;
  Tls() {
    const crypto::PemPair pem = must(crypto::make_self_signed({"localhost"}));
    auto store = must(crypto::CertificateStore::from_pem(pem.chain, pem.key));
    contexts = must(
        crypto::ServerContexts::create({}, store, crypto::TicketKeyRing::create(3600 * kSecond)));
    keys = std::make_shared<quic::Keys>(must(quic::Keys::generate()));
  }
};

class Run final : public http3::Acceptor, public http::ServerConnectionHandler {
 public:
  explicit Run(uint8_t choices) : backends_((choices & kPrefaces) != 0) {
    static const Tls& tls = *new Tls;
    http3::Listener::Options options;
    options.socket = must(net::bind_udp(loopback(), {.reuse_port = false}, 65536, 65536));
    options.local = must(net::local_address(options.socket.fd.get()));
    options.keys = tls.keys;
    options.limits = world_.limits();
    const net::Address server = options.local;
    listener_ =
        must(http3::Listener::create(world_.loop(), std::move(options), tls.contexts, *this));
    client_ =
        std::make_unique<QuicTestClient>(world_.loop(), QuicTestClient::Options{.server = server});
    require(wait([this] { return client_->handshake_done() && connection_ != nullptr; }),
            "the handshake is done");
    control_ = client_->open_unidirectional();
    encoder_ = client_->open_unidirectional();
    client_->write(control_, std::string("\0", 1) + http3_frame(http3::frame::kSettings, {}));
    client_->write(encoder_, std::string("\2", 1));
    settle();
  }

  void play(const ScriptStep& step) {
    const ScriptFrame f = read_script_frame(step.payload);
    switch (step.what) {
      case 'c': write(0, step.payload, false); break;
      case 'h': write(f.stream / 2, http3_headers(f), f.end); break;
      case 'd': write(f.stream / 2, http3_frame(http3::frame::kData, f.rest), f.end); break;
      case 's': client_->write(control_, step.payload); break;
      case 'q': client_->write(encoder_, step.payload); break;
      case 'e': write(number(step), {}, true); break;
      case 'x':
        if (const int64_t id = stream(number(step)); id >= 0) client_->reset(id, 0x10c);
        break;
      default: backends_.play(step); break;
    }
    settle();
  }

  void finish() {
    settle();
    if (connection_ != nullptr) connection_->close_now();
    require(wait([this] { return connection_ == nullptr; }), "a connection that is closed ends");
    backends_.leave();
    settle();
    backends_.judge(ledger_);
    std::vector<Message> answers;
    for (const auto& [id, s] : client_->streams()) {
      if (!quic::is_bidirectional(id)) continue;
      const StreamRead read = read_http3_stream(id, s.received, s.ended, s.reset.has_value());
      add_answers(static_cast<uint64_t>(id), read, answers);
    }
    for (const Message& m : answers) ledger_.judge_answer_on(m);
  }

 private:
  // http3::Acceptor
  Verdict admit(const net::Address&) override { return Verdict::accept; }
  http::ServerConnectionHandler& on_http3_connection(
      std::unique_ptr<http::ServerConnection> connection, const net::ConnectionFacts&) override {
    connection_ = std::move(connection);
    return *this;
  }
  void hand_over(const quic::Owner&, const quic::ReceivedDatagram&) override {}
  // http::ServerConnectionHandler
  http::ServerStreamHandler& on_stream(http::ServerStream& stream) override {
    return ledger_.open(world_.worker().new_exchange(stream, *world_.view()), stream);
  }
  void on_closed(std::string_view) override { connection_.reset(); }

  static net::Address loopback() { return must(net::Address::from_ip("127.0.0.1", 0)); }
  static size_t number(const ScriptStep& step) {
    return step.payload.empty() ? 0 : static_cast<uint8_t>(step.payload.front());
  }

  // Opened when it is first named; streams are opened in order.
  int64_t stream(size_t n) {
    while (ids_.size() <= n && n < 12) {
      const int64_t id = client_->open_bidirectional();
      if (id < 0) return -1;
      ids_.push_back(id);
    }
    return n < ids_.size() ? ids_[n] : -1;
  }
  void write(size_t n, std::string_view bytes, bool end) {
    if (bytes.empty() && !end) return;
    if (const int64_t id = stream(n); id >= 0) client_->write(id, bytes, end);
  }

  void settle() {
    for (int turn = 0; turn < 8; ++turn) {
      world_.loop().run_once(0);
      backends_.take();
    }
  }
  // Datagrams, timers: what takes a moment.
  template <typename Done>
  bool wait(Done&& done) {
    for (int turn = 0; turn < 20'000 && !done(); ++turn) {
      world_.loop().run_once(kMillisecond);
      backends_.take();
    }
    return done();
  }

  World& world_ = World::instance();
  Backends backends_;
  Ledger ledger_{"127.0.0.1"};
  std::unique_ptr<http3::Listener> listener_;
  std::unique_ptr<http::ServerConnection> connection_;
  std::unique_ptr<QuicTestClient> client_;
  int64_t control_ = -1;
  int64_t encoder_ = -1;
  std::vector<int64_t> ids_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  play_input<Run>({data, size});
  return 0;
}
