#include <algorithm>
#include <vector>

#include "measure/chain/flight.h"

namespace pqedge::measure {

using crypto::BioMethodPtr;
using crypto::BioPtr;
using crypto::SslPtr;

namespace {

// One direction of a connection: what one end wrote and the other has not read yet.
struct Pipe {
  std::vector<uint8_t> bytes;
  size_t read = 0;
  size_t written = 0;  // in all
};

struct Ends {
  Pipe* in;
  Pipe* out;
};

int write_pipe(BIO* bio, const char* data, int size) {
  Pipe& pipe = *static_cast<Ends*>(BIO_get_data(bio))->out;
  pipe.bytes.insert(pipe.bytes.end(), data, data + size);
  pipe.written += static_cast<size_t>(size);
  return size;
}

int read_pipe(BIO* bio, char* to, int size) {
  Pipe& pipe = *static_cast<Ends*>(BIO_get_data(bio))->in;
  BIO_clear_retry_flags(bio);
  const size_t n = std::min(static_cast<size_t>(size), pipe.bytes.size() - pipe.read);
  if (n == 0) {
    BIO_set_retry_read(bio);
    return -1;
  }
  std::copy_n(pipe.bytes.begin() + static_cast<std::ptrdiff_t>(pipe.read), n, to);
  pipe.read += n;
  return static_cast<int>(n);
}

long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

const BIO_METHOD* pipe_method() {
  static const BioMethodPtr method = [] {
    BioMethodPtr made(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "flight"));
    if (made != nullptr) {
      BIO_meth_set_write(made.get(), write_pipe);
      BIO_meth_set_read(made.get(), read_pipe);
      BIO_meth_set_ctrl(made.get(), control);
    }
    return made;
  }();
  return method.get();
}

bool attach(SSL* ssl, Ends& ends) {
  BIO* bio = BIO_new(pipe_method());
  if (bio == nullptr) return false;
  BIO_set_data(bio, &ends);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl, bio, bio);  // owns it
  return true;
}

// True when done, false when it waits for the other end.
Result<bool> advance(SSL* ssl, const char* who) {
  crypto::clear_errors();
  const int status = SSL_do_handshake(ssl);
  if (status == 1) return true;
  if (SSL_get_error(ssl, status) == SSL_ERROR_WANT_READ) return false;
  return fail("the {} ended the handshake: {}", who, crypto::take_openssl_error());
}

}  // namespace

Result<CapturedFlight> capture_tcp(const ChainSpec& spec, const MintedChain& chain,
                                   const std::string& group) {
  const auto sides = make_sides(spec, chain, group, FlightTransport::tcp);
  if (!sides) return std::unexpected(sides.error());
  auto client = new_client(*sides, spec, FlightTransport::tcp);
  if (!client) return std::unexpected(client.error());
  auto server = new_server(*sides);
  if (!server) return std::unexpected(server.error());
  Pipe to_server;
  Pipe to_client;
  Ends client_ends{&to_client, &to_server};
  Ends server_ends{&to_server, &to_client};
  if (!attach(client->get(), client_ends) || !attach(server->get(), server_ends)) {
    return fail("TLS: {}", crypto::take_openssl_error());
  }
  MessageLog client_log;
  MessageLog server_log;
  client_log.attach(client->get());
  server_log.attach(server->get());

  CapturedFlight flight;
  if (auto hello = advance(client->get(), "client"); !hello) return std::unexpected(hello.error());
  flight.client_hello = client_log.total();
  flight.client_bytes = to_server.written;
  if (auto first = advance(server->get(), "server"); !first) return std::unexpected(first.error());
  flight.server_flight = to_client.written;
  flight.parts = server_log.sent();
  flight.parts["TLS records"] = flight.server_flight - server_log.total();
  auto done = advance(client->get(), "client");
  if (!done) return std::unexpected(done.error());
  if (!*done) return fail("the server's first flight did not complete the client's handshake");
  flight.client_flight = to_server.written - flight.client_bytes;
  done = advance(server->get(), "server");
  if (!done) return std::unexpected(done.error());
  if (!*done) return fail("the client's second flight did not complete the server's handshake");
  if (auto same = check_group(client->get(), group); !same) return std::unexpected(same.error());
  return flight;
}

}  // namespace pqedge::measure
