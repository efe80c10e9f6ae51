#include "forward_loop.h"

#include <netinet/tcp.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <string_view>

namespace pqedge::bench {

namespace {

constexpr size_t kBufferSize = 256 * 1024;
constexpr std::string_view kBlankLine = "\r\n\r\n";

void set_no_delay(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

// The Content-Length of an answer's head, 0 without one.
uint64_t body_length(std::string_view head) {
  static constexpr std::string_view kName = "content-length:";
  for (size_t at = head.find('\n'); at != std::string_view::npos; at = head.find('\n', at + 1)) {
    const std::string_view line = head.substr(at + 1);
    if (line.size() < kName.size()) break;
    if ((line[0] | 0x20) != 'c' || strncasecmp(line.data(), kName.data(), kName.size()) != 0) {
      continue;
    }
    const char* digit = line.data() + kName.size();
    while (*digit == ' ') ++digit;
    uint64_t length = 0;
    std::from_chars(digit, line.data() + line.size(), length);
    return length;
  }
  return 0;
}

}  // namespace

struct ForwardLoop::Peer {
  enum class Kind { kClient, kBackend };

  Peer(Kind peer_kind, int peer_socket) : kind(peer_kind), socket(peer_socket) {}
  virtual ~Peer() { close(socket); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  Kind kind;
  int socket;
  bool closed = false;
  bool watching_writes = false;
};

struct ForwardLoop::Client : Peer {
  Client(int client_socket, SSL_CTX* context) : Peer(Kind::kClient, client_socket), tls(context) {}

  TlsPipe tls;
  std::string request;  // plain text not yet forwarded
  Backend* backend = nullptr;
};

struct ForwardLoop::Backend : Peer {
  explicit Backend(int backend_socket) : Peer(Kind::kBackend, backend_socket) {}

  Client* client = nullptr;
  std::string out;
  std::string head;        // of the answer, until its blank line
  uint64_t body_left = 0;  // of the answer, once its head is known
  bool in_body = false;
};

ForwardLoop::ForwardLoop(SSL_CTX* context, int listener, const sockaddr_in& backend)
    : context_(context),
      listener_(listener),
      backend_address_(backend),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      buffer_(kBufferSize) {}

ForwardLoop::~ForwardLoop() { close(epoll_); }

void ForwardLoop::run(const volatile int& stop) {
  epoll_event listening{};
  listening.events = EPOLLIN;
  listening.data.ptr = nullptr;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, listener_, &listening);

  std::array<epoll_event, 256> events;
  while (stop == 0) {
    const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<size_t>(i)];
      auto* peer = static_cast<Peer*>(event.data.ptr);
      if (peer == nullptr) {
        accept_all();
      } else if (peer->closed) {
        continue;
      } else if (peer->kind == Peer::Kind::kClient) {
        on_client(static_cast<Client&>(*peer), event.events);
      } else {
        on_backend(static_cast<Backend&>(*peer), event.events);
      }
    }
    dead_.clear();
  }
}

void ForwardLoop::accept_all() {
  for (;;) {
    const int socket = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0) return;
    set_no_delay(socket);
    add(std::make_unique<Client>(socket, context_));
  }
}

void ForwardLoop::add(std::unique_ptr<Peer> peer) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = peer.get();
  epoll_ctl(epoll_, EPOLL_CTL_ADD, peer->socket, &event);
  const auto index = static_cast<size_t>(peer->socket);
  if (index >= peers_.size()) peers_.resize(index + 1);
  peers_[index] = std::move(peer);
}

void ForwardLoop::bury(Peer& peer) {
  epoll_ctl(epoll_, EPOLL_CTL_DEL, peer.socket, nullptr);
  dead_.push_back(std::move(peers_[static_cast<size_t>(peer.socket)]));
}

void ForwardLoop::watch(Peer& peer, bool writable) {
  if (peer.watching_writes == writable) return;
  peer.watching_writes = writable;
  epoll_event event{};
  event.events = EPOLLIN | (writable ? static_cast<uint32_t>(EPOLLOUT) : 0U);
  event.data.ptr = &peer;
  epoll_ctl(epoll_, EPOLL_CTL_MOD, peer.socket, &event);
}

bool ForwardLoop::send_some(Peer& peer, std::string& bytes) {
  if (!bytes.empty()) {
    const ssize_t sent = send(peer.socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) return false;
    if (sent > 0) bytes.erase(0, static_cast<size_t>(sent));
  }
  watch(peer, !bytes.empty());
  return true;
}

void ForwardLoop::on_client(Client& client, uint32_t events) {
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
    const ssize_t count = recv(client.socket, buffer_.data(), buffer_.size(), 0);
    if (count == 0 || (count < 0 && errno != EAGAIN)) return close_client(client);
    if (count > 0 &&
        !client.tls.read({buffer_.data(), static_cast<size_t>(count)}, client.request)) {
      return close_client(client);
    }
  }
  if (!send_some(client, client.tls.out)) return close_client(client);
  if (client.backend == nullptr) forward_next_request(client);
}

void ForwardLoop::forward_next_request(Client& client) {
  const size_t blank_line = client.request.find(kBlankLine);
  if (blank_line == std::string::npos) return;
  const size_t length = blank_line + kBlankLine.size();

  Backend* backend = nullptr;
  if (!idle_.empty()) {
    backend = idle_.back();
    idle_.pop_back();
  } else {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    set_no_delay(socket);
    if (connect(socket, reinterpret_cast<const sockaddr*>(&backend_address_),
                sizeof(backend_address_)) != 0 &&
        errno != EINPROGRESS) {
      close(socket);
      return close_client(client);
    }
    auto made = std::make_unique<Backend>(socket);
    backend = made.get();
    add(std::move(made));
  }
  backend->client = &client;
  client.backend = backend;
  if (length == client.request.size()) {
    backend->out.swap(client.request);
    client.request.clear();
  } else {
    backend->out.assign(client.request, 0, length);
    client.request.erase(0, length);
  }
  if (!send_some(*backend, backend->out)) close_backend(*backend);
}

void ForwardLoop::on_backend(Backend& backend, uint32_t events) {
  if ((events & EPOLLOUT) != 0 && !send_some(backend, backend.out)) return close_backend(backend);
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0) return;
  const ssize_t count = recv(backend.socket, buffer_.data(), buffer_.size(), 0);
  if (count < 0 && errno == EAGAIN) return;
  if (count <= 0 || backend.client == nullptr) return close_backend(backend);
  on_answer_bytes(backend, {buffer_.data(), static_cast<size_t>(count)});
}

void ForwardLoop::on_answer_bytes(Backend& backend, std::span<const char> bytes) {
  Client& client = *backend.client;
  if (!client.tls.write(bytes) || !send_some(client, client.tls.out)) return close_client(client);

  size_t body = bytes.size();
  if (!backend.in_body) {
    // The usual case, a whole head in one read, is looked at in place.
    std::string_view head(bytes.data(), bytes.size());
    if (!backend.head.empty()) head = backend.head.append(head);
    const size_t blank_line = head.find(kBlankLine);
    if (blank_line == std::string_view::npos) {
      if (backend.head.empty()) backend.head = head;
      return;
    }
    backend.in_body = true;
    backend.body_left = body_length(head.substr(0, blank_line + kBlankLine.size()));
    body = head.size() - blank_line - kBlankLine.size();
    backend.head.clear();
  }
  if (body > backend.body_left) return close_backend(backend);
  backend.body_left -= body;
  if (backend.body_left != 0) return;

  backend.in_body = false;
  backend.client = nullptr;
  client.backend = nullptr;
  idle_.push_back(&backend);
  if (!client.request.empty()) forward_next_request(client);
}

void ForwardLoop::close_client(Client& client) {
  if (client.closed) return;
  client.closed = true;
  if (client.backend != nullptr) {
    client.backend->client = nullptr;
    close_backend(*client.backend);
  }
  bury(client);
}

void ForwardLoop::close_backend(Backend& backend) {
  if (backend.closed) return;
  backend.closed = true;
  std::erase(idle_, &backend);
  if (backend.client != nullptr) {
    backend.client->backend = nullptr;
    close_client(*backend.client);
  }
  bury(backend);
}

}  // namespace pqedge::bench
