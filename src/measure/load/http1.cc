#include "measure/load/http1.h"

#include <sys/epoll.h>

#include "base/bytes.h"

namespace pqedge::measure::load {

namespace {
// How much of an upload may wait in the output before the socket has to take some.
constexpr size_t kOutputWanted = 256 * 1024;
}  // namespace

Http1Connection::Http1Connection(Context& context) : Connection(context, 1), stream_(context) {}

Result<void> Http1Connection::open(Nanos now) {
  opened_ = now;
  wants_write_ = true;
  return stream_.connect(context_.tally.handshakes());
}

void Http1Connection::on_events(uint32_t epoll_events, Nanos now) {
  if (state_ == State::kConnecting) {
    if (stream_.handshake(epoll_events) == TcpStream::Progress::kError) {
      const Failure failure = stream_.connected() ? Failure::kHandshake : Failure::kConnect;
      return lost(failure, stream_.error());
    }
    if (!stream_.ready()) return;
    become_ready(stream_.ssl(), now);
    return take_all(false, now);
  }
  if ((epoll_events & (EPOLLIN | EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0) take_all(true, now);
}

void Http1Connection::take_all(bool from_socket, Nanos now) {
  const auto take = [&](std::span<const uint8_t> bytes) { return take_bytes(bytes, now); };
  const auto progress = from_socket ? stream_.read(take) : stream_.drain(take);
  if (state_ == State::kClosed) return;
  if (progress == TcpStream::Progress::kEnd) {
    answer_.on_end();
    if (exchange_ != nullptr && answer_.done()) finish(*std::exchange(exchange_, nullptr), now);
    lost(Failure::kClosed, "closed by the server");
  } else if (progress == TcpStream::Progress::kError) {
    lost(Failure::kClosed, stream_.error());
  }
}

bool Http1Connection::take_bytes(std::span<const uint8_t> bytes, Nanos now) {
  while (!bytes.empty()) {
    if (exchange_ == nullptr) {
      lost(Failure::kProtocol, "bytes that no request asked for");
      return false;
    }
    std::span<const uint8_t> body;
    bytes = bytes.subspan(answer_.take(bytes, body));
    exchange_->status = answer_.status();
    if (!body.empty()) context_.plan.take_body(*exchange_, body);
    if (answer_.broken()) {
      lost(Failure::kProtocol, "not an HTTP/1.1 answer");
      return false;
    }
    if (answer_.done()) {
      if (answer_.closes() || exchange_->uploaded < context_.plan.upload_size()) {
        leave();
      }
      finish(*std::exchange(exchange_, nullptr), now);
    }
  }
  return true;
}

void Http1Connection::submit(Nanos intended, Nanos now) {
  exchange_ = &take(intended, now);
  answer_.begin(context_.plan.answer_has_body());
  stream_.write(as_bytes(context_.plan.http1_head()));
}

bool Http1Connection::uploading() const {
  return exchange_ != nullptr && exchange_->uploaded < context_.plan.upload_size();
}

void Http1Connection::push_upload() {
  while (uploading() && stream_.unsent() < kOutputWanted) {
    const auto bytes = context_.plan.upload_bytes(exchange_->uploaded, kOutputWanted);
    exchange_->uploaded += bytes.size();
    stream_.write(bytes);
  }
}

void Http1Connection::flush(Nanos) {
  if (state_ == State::kClosed) return;
  auto progress = TcpStream::Progress::kOk;
  do {
    push_upload();
    progress = stream_.flush();
    // As long as the socket takes all of it, nothing would call for more.
  } while (progress == TcpStream::Progress::kOk && stream_.unsent() == 0 && uploading());
  if (progress == TcpStream::Progress::kError) {
    // What the server said before it closed (an early refusal) is still to be read.
    if (exchange_ == nullptr || exchange_->uploaded == 0) {
      lost(state_ == State::kConnecting ? Failure::kConnect : Failure::kClosed, stream_.error());
    }
    return;
  }
  wants_write_ = stream_.wants_write();
}

void Http1Connection::close(Nanos) {
  if (state_ == State::kClosed) return;
  abandon();
  stream_.close();
}

}  // namespace pqedge::measure::load
