// A TLS server stream of ours and an OpenSSL client over a pair of sockets, on one thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "crypto/certificates.h"
#include "crypto/handles.h"
#include "crypto/tickets.h"
#include "crypto/tls.h"
#include "net/loop.h"
#include "net/stream.h"
#include "unit/crypto/identity.h"

namespace pqedge::crypto::testing {

// OpenSSL as a client between two memory buffers, so that a test can cut, hold and count the bytes.
class Client {
 public:
  struct Options {
    std::string groups;  // empty: the library's default
    std::string server_name;
    std::vector<std::string> alpn = {"http/1.1"};
    int min_version = 0;  // 0: the library's default
    int max_version = 0;
    std::string signature_algorithms;
    SSL_SESSION* session = nullptr;
  };

  Client(int fd, const Options& options);
  ~Client();

  // Moves bytes both ways and goes on with the handshake.
  void step();
  // Only sends what OpenSSL has written so far.
  void send_out();
  // Only takes what has come.
  void take_in();
  bool connected() const { return connected_; }
  bool failed() const { return failed_; }
  // "wrong version number", "sslv3 alert handshake failure", ...
  const std::string& failure() const { return failure_; }
  bool peer_closed() const { return peer_closed_; }  // the FIN (or a reset) came

  void write(std::string_view data);  // queued whole
  std::string received;               // all application data so far
  bool received_close_notify = false;
  size_t unsent() const { return out_.size() + plain_.size(); }

  // Applied to all bytes on their way out, once each.
  std::function<std::string(std::string)> rewrite;
  // While false, nothing is read from the socket.
  bool reading = true;

  SSL* ssl() { return ssl_.get(); }
  int fd() const { return fd_.get(); }
  net::Fd& socket() { return fd_; }
  std::string peer_common_name() const;
  std::string group() const;
  std::string alpn() const;
  bool resumed() const { return SSL_session_reused(ssl_.get()) == 1; }
  int client_hellos = 0;
  std::vector<size_t> data_records;  // sizes of the application-data records that came
  // The newest ticket; the caller frees it.
  SSL_SESSION* take_session();

 private:
  void work();
  static void on_message(int sent, int version, int type, const void* data, size_t size, SSL* ssl,
                         void* self);
  static int on_session(SSL* ssl, SSL_SESSION* session);

  net::Fd fd_;
  SslCtxPtr context_;
  SslPtr ssl_;
  std::string out_;    // ciphertext that the socket has not taken
  std::string plain_;  // data to be written
  SSL_SESSION* session_ = nullptr;
  bool connected_ = false;
  bool failed_ = false;
  bool peer_closed_ = false;
  std::string failure_;
};

// Our side: accepts one connection, reads all it can, keeps what came.
class Server final : public HandshakeHandler, public net::StreamHandler {
 public:
  Server(net::Loop& loop, net::Fd fd, std::shared_ptr<ServerContexts> contexts,
         const AlpnList& alpn);

  void on_handshake_done() override;
  void on_handshake_failed(const Error& error) override;
  void on_readable() override;
  void on_writable() override { ++writable_calls; }
  void on_stream_error(const Error& error) override;

  void read_all();

  net::ConnectionFacts facts;
  AlpnList alpn;
  std::unique_ptr<net::Stream> stream;
  bool done = false;
  std::string handshake_error;
  std::string stream_error;
  std::string received;
  bool ended = false;
  bool read_error = false;
  bool read_on_event = true;
  bool destroy_on_readable = false;
  int readable_calls = 0;
  int writable_calls = 0;
};

std::shared_ptr<const CertificateStore> store_of(const Identity& identity);
const Identity& test_identity();  // P-256, "example.test"
std::shared_ptr<ServerContexts> make_contexts(
    const TlsSettings& settings = {}, std::shared_ptr<const CertificateStore> store = nullptr,
    std::shared_ptr<TicketKeyRing> ring = nullptr);

// Both ends. Unix sockets unless `tcp`: those also do resets.
class Pair {
 public:
  explicit Pair(std::shared_ptr<ServerContexts> contexts, const Client::Options& client = {},
                const AlpnList& alpn = {"h2", "http/1.1"}, bool tcp = false);

  // Steps both ends until `until` holds; false if it does not within many steps.
  bool run(const std::function<bool()>& until, bool with_client = true);
  bool handshake() {
    return run([this] { return (server->done && client->connected()) || over(); }) && server->done;
  }
  bool over() const { return !server->handshake_error.empty() || client->failed(); }
  // A few steps more: what is on its way arrives.
  void settle();

  std::unique_ptr<net::Loop> loop;
  std::unique_ptr<Client> client;
  std::unique_ptr<Server> server;
};

}  // namespace pqedge::crypto::testing
