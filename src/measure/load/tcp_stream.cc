#include "measure/load/tcp_stream.h"

#include <netinet/tcp.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace pqedge::measure::load {

// OpenSSL's view of the stream: reads from what was received, writes into what is to be sent.
struct StreamBio {
  static TcpStream* stream(BIO* bio) { return static_cast<TcpStream*>(BIO_get_data(bio)); }

  static int read(BIO* bio, char* to, int size) {
    BIO_clear_retry_flags(bio);
    std::span<const uint8_t>& in = stream(bio)->in_;
    if (in.empty()) {
      BIO_set_retry_read(bio);
      return -1;
    }
    const size_t count = std::min(in.size(), static_cast<size_t>(size));
    std::memcpy(to, in.data(), count);
    in = in.subspan(count);
    return static_cast<int>(count);
  }

  static int write(BIO* bio, const char* from, int size) {
    BIO_clear_retry_flags(bio);
    stream(bio)->out_.append(from, static_cast<size_t>(size));
    return size;
  }

  static long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

  static BIO_METHOD* method() {
    static BIO_METHOD* const made = [] {
      BIO_METHOD* m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "load stream");
      BIO_meth_set_read(m, &StreamBio::read);
      BIO_meth_set_write(m, &StreamBio::write);
      BIO_meth_set_ctrl(m, &StreamBio::control);
      return m;
    }();
    return made;
  }
};

Result<void> bind_local(const Context& context, int socket, size_t turn) {
  if (context.local.empty()) return {};
  const net::Address& local = context.local[turn % context.local.size()];
  // The port is chosen at connect time, by the whole pair of addresses: else a run of many
  // connections is out of ports at 28,000.
  const int on = 1;
  setsockopt(socket, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
  if (bind(socket, local.data(), local.size()) != 0) {
    return ::pqedge::fail_errno(errno, "local address {}", local.ip());
  }
  return {};
}

TcpStream::Progress TcpStream::fail_errno(const char* what) {
  error_ = std::string(what) + ": " + std::generic_category().message(errno);
  return Progress::kError;
}

Result<void> TcpStream::connect(size_t local_turn) {
  socket_ = net::Fd(
      socket(context_.server.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
  if (!socket_) return ::pqedge::fail_errno(errno, "socket");
  const int on = 1;
  setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (auto bound = bind_local(context_, socket_.get(), local_turn); !bound) return bound;
  if (::connect(socket_.get(), context_.server.data(), context_.server.size()) != 0 &&
      errno != EINPROGRESS) {
    return ::pqedge::fail_errno(errno, "connect to {}", context_.server.to_string());
  }
  if (context_.tls == nullptr) return {};
  ssl_ = context_.tls->new_connection();
  if (!ssl_) return fail("TLS: {}", openssl_error());
  BIO* bio = BIO_new(StreamBio::method());
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);
  return {};
}

TcpStream::Progress TcpStream::receive() {
  std::vector<uint8_t>& buffer = context_.buffer;
  const ssize_t count = recv(socket_.get(), buffer.data(), buffer.size(), 0);
  if (count < 0) {
    if (errno == EAGAIN || errno == EINTR) return Progress::kOk;
    return fail_errno("receive");
  }
  if (count == 0) return Progress::kEnd;
  ++context_.tally.traffic.receive_calls;
  context_.tally.traffic.bytes_received += static_cast<uint64_t>(count);
  in_ = {buffer.data(), static_cast<size_t>(count)};
  return Progress::kOk;
}

TcpStream::Progress TcpStream::handshake(uint32_t epoll_events) {
  if (!connected_) {
    int error = 0;
    socklen_t size = sizeof(error);
    getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) {
      error_ = std::generic_category().message(error);
      return Progress::kError;
    }
    connected_ = true;
  }
  if (!ssl_) {
    ready_ = true;
    return Progress::kOk;
  }
  if ((epoll_events & (EPOLLIN | EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0) {
    if (const Progress progress = receive(); progress != Progress::kOk) {
      if (progress == Progress::kEnd) error_ = "closed during the handshake";
      return Progress::kError;
    }
  }
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  if (result == 1) {
    ready_ = true;
    return Progress::kOk;
  }
  if (SSL_get_error(ssl_.get(), result) == SSL_ERROR_WANT_READ) return Progress::kOk;
  error_ = openssl_error();
  flush();  // the alert
  return Progress::kError;
}

TcpStream::Progress TcpStream::read(const Take& take) {
  const Progress progress = receive();
  return progress == Progress::kOk ? drain(take) : progress;
}

TcpStream::Progress TcpStream::drain(const Take& take) {
  if (!ssl_) {
    if (!in_.empty()) take(std::exchange(in_, {}));
    return Progress::kOk;
  }
  std::array<uint8_t, 16384> plain;
  for (;;) {
    ERR_clear_error();
    const int count = SSL_read(ssl_.get(), plain.data(), static_cast<int>(plain.size()));
    if (count > 0) {
      if (!take({plain.data(), static_cast<size_t>(count)})) return Progress::kOk;
      continue;
    }
    const int error = SSL_get_error(ssl_.get(), count);
    if (error == SSL_ERROR_WANT_READ) return Progress::kOk;
    if (error == SSL_ERROR_ZERO_RETURN) return Progress::kEnd;
    error_ = openssl_error();
    return Progress::kError;
  }
}

bool TcpStream::write(std::span<const uint8_t> plain) {
  if (!ssl_) {
    out_.append(reinterpret_cast<const char*>(plain.data()), plain.size());
    return true;
  }
  ERR_clear_error();
  size_t written = 0;
  return plain.empty() || SSL_write_ex(ssl_.get(), plain.data(), plain.size(), &written) == 1;
}

TcpStream::Progress TcpStream::flush() {
  while (sent_ < out_.size()) {
    const ssize_t count =
        send(socket_.get(), out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL);
    if (count < 0) {
      // Not connected yet: the first flight waits in the output.
      if (errno == EAGAIN || errno == EINTR || errno == ENOTCONN) return Progress::kOk;
      return fail_errno("send");
    }
    ++context_.tally.traffic.send_calls;
    context_.tally.traffic.bytes_sent += static_cast<uint64_t>(count);
    sent_ += static_cast<size_t>(count);
  }
  out_.clear();
  sent_ = 0;
  return Progress::kOk;
}

void TcpStream::close() {
  if (ssl_ && ready_) {
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
    flush();
  }
  socket_.reset();
}

}  // namespace pqedge::measure::load
