#include <gtest/gtest.h>

#include <cerrno>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "net/stream.h"
#include "unit/net/support.h"

namespace pqedge::net {
namespace {

// Reads all it can into `received`, as the contract asks.
struct StreamRecorder : StreamHandler {
  void on_readable() override {
    ++readable;
    if (before_reading) before_reading();
    uint8_t buffer[16 * 1024];
    while (stream != nullptr) {
      const IoResult r = stream->read(MutableBytes(buffer).first(read_size));
      if (r.status == IoStatus::ok) {
        received.append(as_text(Bytes(buffer, r.size)));
        if (pause_after_read) {
          stream->pause_reading();
          return;
        }
        continue;
      }
      last = r.status;
      if (destroy_at_end && r.status != IoStatus::would_block) {
        stream.reset();
      }
      return;
    }
  }
  void on_writable() override { ++writable; }
  void on_stream_error(const Error& error) override {
    ++errors;
    code = error.code;
    stream.reset();
  }
  void on_connected() override {
    ++connected;
    if (destroy_on_connect) stream.reset();
  }

  std::unique_ptr<Stream> stream;
  std::string received;
  std::function<void()> before_reading;
  size_t read_size = 16 * 1024;
  IoStatus last = IoStatus::ok;
  int readable = 0, writable = 0, errors = 0, connected = 0, code = 0;
  bool pause_after_read = false, destroy_at_end = false, destroy_on_connect = false;
};

void attach(StreamRecorder& recorder, Loop& loop, Fd fd) {
  recorder.stream = make_plain_stream(loop, std::move(fd));
  recorder.stream->set_handler(&recorder);
}

void send_all(int fd, std::string_view text) {
  ASSERT_EQ(::send(fd, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

// Closes with a reset.
void reset_connection(Fd& fd) {
  const linger l{.l_onoff = 1, .l_linger = 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &l, sizeof l);
  fd.reset();
}

// What the peer can read now, without waiting.
std::string drain(int fd) {
  std::string out;
  char buffer[64 * 1024];
  for (;;) {
    const ssize_t n = ::recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (n <= 0) return out;
    out.append(buffer, static_cast<size_t>(n));
  }
}

TEST(PlainStream, ReadsWhatCameAndThenTheEnd) {
  auto loop = make_loop();
  TcpPair pair = tcp_pair();
  StreamRecorder r;
  attach(r, *loop, std::move(pair.server));
  send_all(pair.client.get(), "hello ");
  ASSERT_TRUE(run_until(*loop, [&] { return r.received == "hello "; }));
  send_all(pair.client.get(), "world");
  pair.client.reset();
  ASSERT_TRUE(run_until(*loop, [&] { return r.last == IoStatus::end_of_stream; }));
  EXPECT_EQ(r.received, "hello world");
  EXPECT_EQ(r.connected, 1);
  EXPECT_EQ(r.errors, 0);
}

// Bytes and FIN that arrive together raise one edge: a short read must not be taken for drained.
TEST(PlainStream, SeesAnEndThatCameWithTheBytes) {
  auto loop = make_loop();
  TcpPair pair = tcp_pair();
  send_all(pair.client.get(), "x");
  pair.client.reset();
  StreamRecorder r;
  attach(r, *loop, std::move(pair.server));
  ASSERT_TRUE(run_until(*loop, [&] { return r.last == IoStatus::end_of_stream; }));
  EXPECT_EQ(r.received, "x");
}

TEST(PlainStream, GathersTheWritesOfATurn) {
  auto loop = make_loop();
  TcpPair pair = tcp_pair();
  StreamRecorder r;
  attach(r, *loop, std::move(pair.server));
  ASSERT_TRUE(run_until(*loop, [&] { return r.connected == 1; }));
  r.stream->write_copy(as_bytes("head;"));
  r.stream->write_copy(as_bytes("more;"));
  r.stream->write(Slice{{}, as_bytes("static").data(), 6});
  r.stream->write_copy(as_bytes(";tail"));
  EXPECT_EQ(r.stream->backlog(), 21u);
  EXPECT_EQ(drain(pair.client.get()), "");  // nothing leaves before the end of the turn
  loop->run_once(0);
  EXPECT_EQ(r.stream->backlog(), 0u);
  EXPECT_EQ(drain(pair.client.get()), "head;more;static;tail");
}

TEST(PlainStream, KeepsNoChunkWhenAllWasWritten) {
  auto loop = make_loop();
  TcpPair pair = tcp_pair();
  StreamRecorder r;
  attach(r, *loop, std::move(pair.server));
  ASSERT_TRUE(run_until(*loop, [&] { return r.connected == 1; }));
  const size_t before = Chunk::live();
  r.stream->write_copy(as_bytes("abc"));
  EXPECT_EQ(Chunk::live(), before + 1);
  r.stream->flush();
  EXPECT_EQ(Chunk::live(), before);
}

TEST(PlainStream, WritesMoreThanTheSocketTakesAndTellsWhenTheBacklogFell) {
  auto loop = make_loop();
  TcpPair pair = tcp_pair();
  StreamRecorder r;
  attach(r, *loop, std::move(pair.server));
  r.stream->notify_below(1000);
  std::string sent;
  for (int i = 0; sent.size() < 16 * 1024 * 1024; ++i) {
    const std::string part(1 + static_cast<size_t>(i * 37 % 40'000),
                           static_cast<char>('a' + i % 26));
    if (i % 3 == 0) {
      copy_to_slices(as_bytes(part), [&](Slice s) { r.stream->write(std::move(s)); });
    } else {
      r.stream->write_copy(as_bytes(part));
    }
    sent += part;
  }
  EXPECT_EQ(r.stream->backlog(), sent.size());
  std::string got;
  ASSERT_TRUE(run_until(*loop, [&] {
    EXPECT_TRUE(r.stream->backlog() <= 1000 || r.writable == 0);
    got += drain(pair.client.get());
    return got.size() == sent.size();
  }));
  loop->run_once(0);
  EXPECT_EQ(got, sent);
  EXPECT_EQ(r.writable, 1);
  EXPECT_EQ(r.stream->backlog(), 0u);
}

TEST(PlainStream, TellsOfEachCrossingOfTheMark) {
  auto loop = make_loop();
  TcpPair pair = tcp_pair();
  StreamRecorder r;
  attach(r, *loop, std::move(pair.server));
  r.stream->notify_below(2);
  for (int round = 1; round <= 3; ++round) {
    r.stream->write_copy(as_bytes("abc"));
    ASSERT_TRUE(run_until(*loop, [&] { return r.writable == round; }));
  }
  r.stream->write_copy(as_bytes("ab"));  // never above the mark
  loop->run_once(0);
  EXPECT_EQ(r.stream->backlog(), 0u);
  EXPECT_EQ(r.writable, 3);
}

// A handler is called from the loop only: flush() may be called anywhere in its own code.
TEST(PlainStream, FlushCallsNobody) {
  auto loop = make_loop();
  TcpPair pair = tcp_pair();
  StreamRecorder r;
  attach(r, *loop, std::move(pair.server));
  ASSERT_TRUE(run_until(*loop, [&] { return r.connected == 1; }));
  r.stream->notify_below(0);
  r.stream->write_copy(as_bytes("abc"));
  r.stream->flush();
  EXPECT_EQ(drain(pair.client.get()), "abc");
  EXPECT_EQ(r.writable, 0);
  loop->run_once(0);
  EXPECT_EQ(r.writable, 1);
}

TEST(PlainStream, ShutdownSendsWhatIsQueuedFirst) {
  auto loop = make_loop();
  TcpPair pair = tcp_pair();
  StreamRecorder r;
  attach(r, *loop, std::move(pair.server));
  const std::string big(4 * 1024 * 1024, 'z');
  r.stream->write_copy(as_bytes(big));
  r.stream->shutdown_write();
  std::string got;
  ASSERT_TRUE(run_until(*loop, [&] {
    got += drain(pair.client.get());
    char c;
    return got.size() == big.size() && ::recv(pair.client.get(), &c, 1, MSG_DONTWAIT) == 0;
  }));
  // The other direction still works.
  send_all(pair.client.get(), "late");
  ASSERT_TRUE(run_until(*loop, [&] { return r.received == "late"; }));
}

TEST(PlainStream, AbortIsAReset) {
  auto loop = make_loop();
  TcpPair pair = tcp_pair();
  StreamRecorder r;
  attach(r, *loop, std::move(pair.server));
  ASSERT_TRUE(run_until(*loop, [&] { return r.connected == 1; }));
  r.stream->notify_below(0);
  r.stream->write_copy(as_bytes("never sent"));
  r.stream->abort();
  char c;
  EXPECT_EQ(::recv(pair.client.get(), &c, 1, 0), -1);
  EXPECT_EQ(errno, ECONNRESET);
  loop->run_once(0);
  EXPECT_EQ(r.writable + r.errors, 0);
  uint8_t buffer[1];
  EXPECT_EQ(r.stream->read(buffer).status, IoStatus::error);
  r.stream->shutdown_write();
  r.stream->flush();
  loop->run_once(0);
  EXPECT_EQ(r.writable + r.errors, 0);
}

TEST(PlainStream, PausedStreamsAreNotTold) {
  auto loop = make_loop();
  TcpPair pair = tcp_pair();
  StreamRecorder r;
  attach(r, *loop, std::move(pair.server));
  ASSERT_TRUE(run_until(*loop, [&] { return r.connected == 1; }));
  r.stream->pause_reading();
  send_all(pair.client.get(), "abc");
  loop->run_once(kSecond);
  loop->run_once(0);
  EXPECT_EQ(r.readable, 0);
  r.stream->resume_reading();
  EXPECT_EQ(r.readable, 0);  // not from inside the call
  loop->run_once(0);
  EXPECT_EQ(r.received, "abc");
}

TEST(PlainStream, ResumingGoesOnWhereReadingStopped) {
  auto loop = make_loop();
  TcpPair pair = tcp_pair();
  StreamRecorder r;
  r.pause_after_read = true;
  r.read_size = 3;
  attach(r, *loop, std::move(pair.server));
  send_all(pair.client.get(), "abcdefgh");
  pair.client.reset();
  ASSERT_TRUE(run_until(*loop, [&] {
    if (r.stream) r.stream->resume_reading();
    return r.last == IoStatus::end_of_stream;
  }));
  EXPECT_EQ(r.received, "abcdefgh");
}

TEST(PlainStream, AResetIsReadAfterTheBytesBeforeIt) {
  auto loop = make_loop();
  TcpPair pair = tcp_pair();
  StreamRecorder r;
  attach(r, *loop, std::move(pair.server));
  ASSERT_TRUE(run_until(*loop, [&] { return r.connected == 1; }));
  send_all(pair.client.get(), "last words");
  reset_connection(pair.client);
  ASSERT_TRUE(run_until(*loop, [&] { return r.last == IoStatus::error; }));
  EXPECT_EQ(r.received, "last words");
  EXPECT_EQ(r.stream->last_error().code, ECONNRESET);
  loop->run_once(0);
  EXPECT_EQ(r.errors, 0);  // told once
}

TEST(PlainStream, APausedStreamHearsOfAResetWhenNothingWaitsToBeRead) {
  auto loop = make_loop();
  TcpPair pair = tcp_pair();
  StreamRecorder r;
  attach(r, *loop, std::move(pair.server));
  ASSERT_TRUE(run_until(*loop, [&] { return r.connected == 1; }));
  r.stream->pause_reading();
  reset_connection(pair.client);
  ASSERT_TRUE(run_until(*loop, [&] { return r.errors == 1; }));
  EXPECT_EQ(r.code, ECONNRESET);
}

TEST(PlainStream, APausedStreamKeepsBytesThatCameBeforeAReset) {
  auto loop = make_loop();
  TcpPair pair = tcp_pair();
  StreamRecorder r;
  attach(r, *loop, std::move(pair.server));
  ASSERT_TRUE(run_until(*loop, [&] { return r.connected == 1; }));
  r.stream->pause_reading();
  send_all(pair.client.get(), "kept");
  reset_connection(pair.client);
  loop->run_once(kSecond);
  loop->run_once(0);
  EXPECT_EQ(r.errors, 0);
  r.stream->resume_reading();
  ASSERT_TRUE(run_until(*loop, [&] { return r.last == IoStatus::error; }));
  EXPECT_EQ(r.received, "kept");
}

// A backend that refuses an upload answers and resets while we still write (K40 seen from here):
// the write fails first, and the answer must still be read.
TEST(PlainStream, AFailedWriteDoesNotLoseAnAnswerAlreadyReceived) {
  auto loop = make_loop();
  TcpPair pair = tcp_pair();
  StreamRecorder r;
  attach(r, *loop, std::move(pair.server));
  ASSERT_TRUE(run_until(*loop, [&] { return r.connected == 1; }));
  send_all(pair.client.get(), "HTTP/1.1 413 \r\n\r\n");
  reset_connection(pair.client);
  // No turn was run: the stream knows nothing yet, and its write meets the reset.
  r.stream->write_copy(as_bytes("more of the upload"));
  r.stream->flush();
  EXPECT_EQ(r.stream->last_error().code, ECONNRESET);
  ASSERT_TRUE(run_until(*loop, [&] { return r.last == IoStatus::error || r.errors > 0; }));
  EXPECT_EQ(r.received, "HTTP/1.1 413 \r\n\r\n");
  // The reset, told to the write, does not turn into an ordinary end for the reader.
  EXPECT_EQ(r.last, IoStatus::error);
}

TEST(PlainStream, AnOrderlyEndBeforeABrokenWriteStaysAnEnd) {
  auto loop = make_loop();
  TcpPair pair = tcp_pair();
  StreamRecorder r;
  attach(r, *loop, std::move(pair.server));
  ASSERT_TRUE(run_until(*loop, [&] { return r.connected == 1; }));
  send_all(pair.client.get(), "done");
  pair.client.reset();  // FIN; what we send now is answered with RST
  r.stream->write_copy(as_bytes("a"));
  r.stream->flush();
  r.stream->write_copy(as_bytes("b"));
  r.stream->flush();
  ASSERT_TRUE(run_until(*loop, [&] { return r.last == IoStatus::end_of_stream; }));
  EXPECT_EQ(r.received, "done");
}

TEST(PlainStream, WriteErrorsAreToldOnceAtTheEndOfTheTurn) {
  auto loop = make_loop();
  int fds[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
  Fd peer(fds[1]);
  StreamRecorder r;
  attach(r, *loop, Fd(fds[0]));
  ASSERT_TRUE(run_until(*loop, [&] { return r.connected == 1; }));
  shutdown(peer.get(), SHUT_RD);
  r.stream->write_copy(as_bytes("x"));
  ASSERT_TRUE(run_until(*loop, [&] { return r.errors == 1; }));
  EXPECT_EQ(r.code, EPIPE);
}

TEST(PlainStream, ConnectingStreamHoldsWritesUntilItIsConnected) {
  auto loop = make_loop();
  auto listener = listen_stream(*Address::parse("127.0.0.1:0"), {});
  auto fd = connect_stream(*local_address(listener->get()));
  ASSERT_TRUE(fd.has_value());
  StreamRecorder r;
  attach(r, *loop, std::move(*fd));
  r.stream->write_copy(as_bytes("early"));
  r.stream->flush();
  ASSERT_TRUE(run_until(*loop, [&] { return r.connected == 1 && r.stream->backlog() == 0; }));
  const Fd accepted(accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC));
  char buffer[8];
  ASSERT_EQ(recv(accepted.get(), buffer, sizeof buffer, 0), 5);
  EXPECT_EQ(std::string_view(buffer, 5), "early");
}

// A refusal of a connection just accepted: written, flushed and closed within one turn.
TEST(PlainStream, AnAcceptedStreamCanAnswerBeforeItsFirstEvent) {
  auto loop = make_loop();
  TcpPair pair = tcp_pair();
  StreamRecorder r;
  attach(r, *loop, std::move(pair.server));
  r.stream->write_copy(as_bytes("busy"));
  r.stream->flush();
  r.stream.reset();
  char buffer[8];
  ASSERT_EQ(recv(pair.client.get(), buffer, sizeof buffer, MSG_WAITALL), 4);
  EXPECT_EQ(std::string_view(buffer, 4), "busy");
}

TEST(PlainStream, ShutdownAfterAnEarlyFlushStillHappens) {
  auto loop = make_loop();
  TcpPair pair = tcp_pair();
  StreamRecorder r;
  attach(r, *loop, std::move(pair.server));
  r.stream->write_copy(as_bytes("x"));
  r.stream->flush();
  r.stream->shutdown_write();
  ASSERT_TRUE(run_until(*loop, [&] { return r.connected == 1; }));
  loop->run_once(0);
  char buffer[8];
  EXPECT_EQ(recv(pair.client.get(), buffer, sizeof buffer, MSG_DONTWAIT), 1);
  EXPECT_EQ(recv(pair.client.get(), buffer, sizeof buffer, MSG_DONTWAIT), 0);
}

TEST(PlainStream, ARefusedConnectIsAStreamError) {
  auto loop = make_loop();
  Address at;
  {
    auto listener = listen_stream(*Address::parse("127.0.0.1:0"), {});
    at = *local_address(listener->get());
  }
  auto fd = connect_stream(at);
  ASSERT_TRUE(fd.has_value());
  StreamRecorder r;
  attach(r, *loop, std::move(*fd));
  r.stream->write_copy(as_bytes("early"));
  ASSERT_TRUE(run_until(*loop, [&] { return r.errors == 1; }));
  EXPECT_EQ(r.code, ECONNREFUSED);
  EXPECT_EQ(r.connected, 0);
}

TEST(PlainStream, MayBeDestroyedByAnyCallback) {
  auto loop = make_loop();
  TcpPair pair = tcp_pair();
  StreamRecorder at_connect;
  at_connect.destroy_on_connect = true;
  send_all(pair.client.get(), "unread");
  attach(at_connect, *loop, std::move(pair.server));
  ASSERT_TRUE(run_until(*loop, [&] { return at_connect.connected == 1; }));
  EXPECT_EQ(at_connect.readable, 0);

  TcpPair second = tcp_pair();
  StreamRecorder at_end;
  at_end.destroy_at_end = true;
  attach(at_end, *loop, std::move(second.server));
  at_end.stream->write_copy(as_bytes("queued"));
  second.client.reset();
  ASSERT_TRUE(run_until(*loop, [&] { return at_end.stream == nullptr; }));
  loop->run_once(0);
}

}  // namespace
}  // namespace pqedge::net
