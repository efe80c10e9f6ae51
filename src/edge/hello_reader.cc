#include "edge/hello_reader.h"

#include <sys/socket.h>

#include <cerrno>

#include "base/counters.h"
#include "edge/passthrough.h"

namespace pqedge::edge {
namespace {

const counters::Counter kHellosRefused(
    "pqedge_passthrough_hellos_refused_total",
    "TLS connections closed on listeners with a passthrough since their hello was too long, or cut "
    "into records that TLS forbids.");

constexpr uint8_t kUnexpectedMessage = 10;  // RFC 8446 6
constexpr uint8_t kIllegalParameter = 47;

}  // namespace

static_assert(Chunk::kCapacity >= crypto::HelloRecords::kMaxBytes);

HelloReader::HelloReader(net::Loop& loop, net::Fd fd, HelloReaderHandler& handler)
    : loop_(loop), fd_(std::move(fd)), handler_(handler) {}

HelloReader::~HelloReader() {
  if (fd_) loop_.remove(fd_.get(), *this);
}

Result<void> HelloReader::start() { return loop_.add(fd_.get(), *this); }

// False: nothing more comes for now, or ever.
bool HelloReader::read_more() {
  if (!chunk_) chunk_ = ChunkRef::make();
  const ssize_t n = recv(fd_.get(), chunk_->data() + size_, Chunk::kCapacity - size_, 0);
  if (n > 0) {
    size_ += static_cast<size_t>(n);
    return true;
  }
  if (n == 0) {
    ended_ = true;
  } else if (errno == EINTR) {
    return true;
  } else if (errno != EAGAIN && errno != EWOULDBLOCK) {
    error_ = errno;
  }
  return false;
}

void HelloReader::on_events(uint32_t events) {
  if ((events & (kReadable | kHangup | kError)) == 0) return;
  using State = crypto::HelloRecords::State;
  State state = State::more;
  while (state == State::more && read_more()) state = records_.take({chunk_->data(), size_});
  switch (state) {
    case State::whole: return finish(host_of_hello(records_.message()));
    case State::not_tls: return finish({});
    case State::broken:
      return refuse(kUnexpectedMessage, "the hello's records are not those of TLS");
    case State::too_long: return refuse(kIllegalParameter, "the hello is too long");
    case State::more: break;
  }
  if (error_ != 0) return handler_.on_hello_failed("the connection broke within its hello");
  if (ended_) return finish({});  // TLS counts it as what it is
  if (size_ == 0) chunk_ = {};
}

void HelloReader::finish(std::string host) {
  loop_.remove(fd_.get(), *this);
  Slice bytes;
  if (size_ > 0) {
    const uint8_t* begin = chunk_->data();
    bytes = Slice{std::move(chunk_), begin, size_};
  }
  handler_.on_hello(std::move(fd_), std::move(bytes), std::move(host));
}

void HelloReader::refuse(uint8_t alert, std::string_view why) {
  kHellosRefused.add();
  const uint8_t record[] = {21, 3, 3, 0, 2, 2, alert};  // fatal
  [[maybe_unused]] const ssize_t n = send(fd_.get(), record, sizeof record, MSG_NOSIGNAL);
  ::shutdown(fd_.get(), SHUT_WR);
  // Closing with bytes unread would send a reset, which may overtake the alert.
  uint8_t sink[4096];
  for (int i = 0; i < 16 && recv(fd_.get(), sink, sizeof sink, 0) > 0; ++i) {
  }
  handler_.on_hello_failed(why);
}

}  // namespace pqedge::edge
