// The floor's event loop.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tls_pipe.h"

namespace pqedge::bench {

// What no proxy of HTTP/1.1 over TLS can do without: TLS, one read and one write a side, and
// knowing where a message ends. A request ends at its blank line (so: no request bodies), an answer
// after its Content-Length. Nothing is parsed, checked, limited, rewritten or logged, no peer is
// timed out, and nothing holds a fast backend back from a slow client.
class ForwardLoop {
 public:
  ForwardLoop(SSL_CTX* context, int listener, const sockaddr_in& backend);
  ~ForwardLoop();
  ForwardLoop(const ForwardLoop&) = delete;
  ForwardLoop& operator=(const ForwardLoop&) = delete;

  // Serves until `stop` is set by a signal handler.
  void run(const volatile int& stop);

 private:
  struct Peer;
  struct Client;
  struct Backend;

  void accept_all();
  void on_client(Client& client, uint32_t events);
  void on_backend(Backend& backend, uint32_t events);
  void forward_next_request(Client& client);
  void on_answer_bytes(Backend& backend, std::span<const char> bytes);
  // Sends what the socket takes of `bytes`, from `sent` on; asks epoll for the rest.
  bool send_some(Peer& peer, std::string& bytes);
  void close_client(Client& client);
  void close_backend(Backend& backend);
  void watch(Peer& peer, bool writable);
  void add(std::unique_ptr<Peer> peer);
  void bury(Peer& peer);

  SSL_CTX* context_;
  int listener_;
  sockaddr_in backend_address_;
  int epoll_;
  std::vector<Backend*> idle_;
  std::vector<std::unique_ptr<Peer>> peers_;  // by socket
  // Peers are freed, and their sockets closed, at the end of a turn: later events of the same turn
  // may still name them.
  std::vector<std::unique_ptr<Peer>> dead_;
  std::vector<char> buffer_;
};

}  // namespace pqedge::bench
