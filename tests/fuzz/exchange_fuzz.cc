// Whole exchanges: what a client and what backends send is the input, what the program makes of it
// is looked at from both sides. HTTP/1.1 and HTTP/2 on either, by the input.
//
// Whatever comes: a backend gets no request but those that the client made, whole only where the
// client's was; each is framed in one way, with the fields that this hop adds and without those
// that end here; the client gets no answer that it did not ask for, and no more than one to each
// request; and when all have gone, nothing is held.
//
// Input: one byte of choices, then a script (fuzz/exchange/script.h).
#include <cstdint>
#include <memory>
#include <string_view>

#include "edge/worker.h"
#include "fuzz/exchange/backends.h"
#include "fuzz/exchange/ledger.h"
#include "fuzz/exchange/play.h"
#include "fuzz/exchange/script.h"
#include "fuzz/exchange/world.h"
#include "unit/wire/fake_stream.h"
#include "unit/wire/http2_support.h"
#include "wire/http1/server.h"
#include "wire/http2/server.h"

namespace {

using namespace pqedge;
using namespace pqedge::fuzz;

// Bits of the first byte.
constexpr uint8_t kClientSpeaksHttp2 = 1;
constexpr uint8_t kPrefaces = 2;    // HTTP/2: both ends send theirs by themselves
constexpr uint8_t kByteByByte = 4;  // what the client sends in one step is read in pieces of a byte
constexpr uint8_t kNarrow = 8;      // the client takes little at a time

class Run final : public http::ServerConnectionHandler {
 public:
  explicit Run(uint8_t choices) : choices_(choices), backends_((choices & kPrefaces) != 0) {
    auto stream = std::make_unique<test::FakeStream>(world_.loop(), client_);
    const auto make = http2_client() ? http2::make_server : http1::make_server;
    connection_ = make(world_.loop(), std::move(stream), world_.facts(), world_.limits(), *this);
    if ((choices_ & kNarrow) != 0) client_.room = kLittle;
    if (http2_client() && (choices_ & kPrefaces) != 0) feed(http2::test::client_preface());
    settle();
  }

  void play(const ScriptStep& step) {
    switch (step.what) {
      case 'c': feed(step.payload); break;
      case 'h': feed(http2_headers(read_script_frame(step.payload))); break;
      case 'd': feed(http2_data(read_script_frame(step.payload))); break;
      case 'e':
        if (!ended_) client_.end();
        ended_ = true;
        break;
      case 'x':
        if (!ended_) client_.fail();
        ended_ = true;
        break;
      default: backends_.play(step); break;
    }
    settle();
  }

  // Everybody leaves, and what was said is looked at.
  void finish() {
    client_.make_room(SIZE_MAX);
    settle();
    if (!ended_) client_.end();
    settle();
    if (connection_ != nullptr) connection_->close_now();
    settle();
    require(connection_ == nullptr, "a connection that is closed ends");
    backends_.leave();
    settle();
    judge();
  }

 private:
  static constexpr size_t kLittle = 600;

  // http::ServerConnectionHandler
  http::ServerStreamHandler& on_stream(http::ServerStream& stream) override {
    return ledger_.open(world_.worker().new_exchange(stream, *world_.view()), stream);
  }
  void on_closed(std::string_view) override { connection_.reset(); }

  bool http2_client() const { return (choices_ & kClientSpeaksHttp2) != 0; }

  void feed(std::string_view bytes) {
    if (ended_ || bytes.empty() || client_.stream == nullptr) return;
    if ((choices_ & kByteByByte) != 0) {
      client_.feed_bytewise(bytes);
    } else {
      client_.feed(bytes);
    }
  }

  void settle() {
    for (int turn = 0; turn < 6; ++turn) {
      world_.loop().run_once(0);
      backends_.take();
    }
    if ((choices_ & kNarrow) != 0 && client_.stream != nullptr) client_.make_room(kLittle);
  }

  void judge() {
    backends_.judge(ledger_);
    if (http2_client()) {
      for (const Message& m : read_http2_answers(client_.output)) ledger_.judge_answer_on(m);
      return;
    }
    size_t at = 0;
    for (const Message& m : read_http1_answers(client_.output, ledger_.methods())) {
      ledger_.judge_answer(m, at);
      at += m.status >= 200 || m.status == 101 ? 1 : 0;
    }
  }

  World& world_ = World::instance();
  const uint8_t choices_;
  test::FakePeer client_;
  bool ended_ = false;
  Backends backends_;
  Ledger ledger_{"192.0.2.7"};
  std::unique_ptr<http::ServerConnection> connection_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  play_input<Run>({data, size});
  return 0;
}
