#include "measure/live/tls.h"

#include <poll.h>
#include <sys/socket.h>

#include <cstring>
#include <format>

#include "base/text.h"
#include "crypto/handles.h"
#include "measure/live/endpoint.h"
#include "measure/live/messages.h"
#include "measure/live/names.h"
#include "measure/live/observer.h"
#include "measure/live/starttls.h"

namespace pqedge::measure::live {

namespace {

// The connection as the BIO sees it.
struct Wire {
  int socket;
  Observer& observer;
  RecordReader client{};
  RecordReader server{};
  size_t sent = 0;
  size_t received = 0;
  size_t client_seen = 0;  // messages handed to the observer
  size_t server_seen = 0;
  int error = 0;     // errno of a broken connection
  bool end = false;  // the server closed it

  void read(Bytes bytes) {
    if (received == 0) observer.time("first_byte");
    received += bytes.size();
    server.take(bytes);
    while (server_seen < server.messages().size()) {
      const auto& message = server.messages()[server_seen++];
      if (message[0] == kServerHello) observer.server_hello(message);
    }
  }
  void written(Bytes bytes) {
    sent += bytes.size();
    client.take(bytes);
    while (client_seen < client.messages().size()) {
      const auto& message = client.messages()[client_seen++];
      if (message[0] == kClientHello) observer.client_hello(message);
    }
    observer.time("client_hello_sent");
  }
};

int wire_read(BIO* bio, char* to, int size) {
  auto& wire = *static_cast<Wire*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  const ssize_t count = ::recv(wire.socket, to, static_cast<size_t>(size), 0);
  if (count > 0) {
    wire.read(Bytes(reinterpret_cast<const uint8_t*>(to), static_cast<size_t>(count)));
  } else if (count == 0) {
    wire.end = true;
  } else if (errno == EAGAIN || errno == EINTR) {
    BIO_set_retry_read(bio);
  } else {
    wire.error = errno;
  }
  return static_cast<int>(count);
}

int wire_write(BIO* bio, const char* from, int size) {
  auto& wire = *static_cast<Wire*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  const ssize_t count = ::send(wire.socket, from, static_cast<size_t>(size), MSG_NOSIGNAL);
  if (count > 0) {
    wire.written(Bytes(reinterpret_cast<const uint8_t*>(from), static_cast<size_t>(count)));
  } else if (errno == EAGAIN || errno == EINTR) {
    BIO_set_retry_write(bio);
  } else {
    wire.error = errno;
  }
  return static_cast<int>(count);
}

long wire_control(BIO*, int command, long, void*) {
  return command == BIO_CTRL_FLUSH || command == BIO_CTRL_DUP ? 1 : 0;
}

BIO* make_bio(Wire& wire) {
  static const crypto::BioMethodPtr method = [] {
    crypto::BioMethodPtr made(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "counted"));
    BIO_meth_set_read(made.get(), &wire_read);
    BIO_meth_set_write(made.get(), &wire_write);
    BIO_meth_set_ctrl(made.get(), &wire_control);
    return made;
  }();
  BIO* bio = BIO_new(method.get());
  if (bio == nullptr) return nullptr;
  BIO_set_data(bio, &wire);
  BIO_set_init(bio, 1);
  return bio;
}

std::unexpected<Error> ended(LiveRecord& record, std::string outcome, std::string message) {
  record.outcome = std::move(outcome);
  return std::unexpected(Error{std::move(message), 0});
}

// What stopped the handshake, in the order of what says most.
std::unexpected<Error> explain(const Options& options, const Wire& wire, const std::string& library,
                               LiveRecord& record) {
  const std::string target = record.target;
  if (const auto alert = wire.server.alert()) {
    const std::string name = alert_name(*alert);
    std::string text =
        std::format("{}: the server refused the handshake with the alert {}", target, name);
    if (*alert == 40 || *alert == 47 || *alert == 71) {
      text += std::format("; it may have none of the offered groups ({})",
                          options.groups.empty() ? "OpenSSL's own list" : options.groups);
    } else if (*alert == 70) {
      text += "; it may not speak TLS 1.3";
    }
    return ended(record, "alert " + name, text);
  }
  if (wire.server.broken()) {
    std::string first = wire.server.first_bytes();
    char more[32];  // OpenSSL read a record's header only
    const ssize_t count = ::recv(wire.socket, more, sizeof(more), MSG_DONTWAIT);
    if (count > 0) first.append(more, static_cast<size_t>(count));
    std::string shown;
    append_text_escaped(shown, first);
    return ended(
        record, "no TLS",
        std::format("{}: the server does not speak TLS here; it sent \"{}\"", target, shown));
  }
  const std::string where =
      wire.received == 0
          ? "before the server's first byte"
          : std::format("after {} bytes of the server's, in mid-handshake", wire.received);
  if (wire.error != 0) {
    return ended(
        record, "reset",
        std::format("{}: the connection broke {}: {}", target, where, std::strerror(wire.error)));
  }
  if (wire.end) {
    return ended(record, "closed",
                 std::format("{}: the server closed the connection {}", target, where));
  }
  return ended(record, "failed", std::format("{}: the handshake failed: {}", target, library));
}

Result<void> connect_loop(SSL* ssl, const Options& options, Wire& wire, Nanos deadline,
                          LiveRecord& record) {
  for (;;) {
    crypto::clear_errors();
    const int done = SSL_connect(ssl);
    if (done == 1) return {};
    const int error = SSL_get_error(ssl, done);
    if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) {
      return explain(options, wire, crypto::take_openssl_error(), record);
    }
    const short events = error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
    if (auto ready = wait_for(wire.socket, events, deadline); !ready) {
      // Bytes that begin no record of TLS are another protocol's.
      if (wire.server.broken()) {
        return explain(options, wire, "", record);
      }
      return ended(record, "timeout",
                   std::format("{}: no answer within {} ms; the server had sent {} bytes",
                               record.target, options.timeout / kMillisecond, wire.received));
    }
  }
}

std::unexpected<Error> not_connected(const Error& error, LiveRecord& record) {
  record.outcome = error.code == ECONNREFUSED ? "refused"
                   : error.code == ETIMEDOUT  ? "timeout"
                                              : "unreachable";
  return std::unexpected(error);
}

void finish(const Wire& wire, LiveRecord& record) {
  record.bytes = {wire.sent, wire.received};
  record.sizes["records_client"] = wire.client.records();
  record.sizes["records_server"] = wire.server.records();
  record.facts["bytes"] =
      "of the TCP stream, by a BIO of our own, to the end of the client's Finished";
  record.facts["group"] = "read from key_share in the ServerHello's bytes on the wire";
  read_tcp_info(wire.socket, record);
}

}  // namespace

Result<void> tls_handshake(const Options& options, LiveRecord& record) {
  record.outcome = "failed";
  auto context = make_context(options);
  if (!context) return std::unexpected(context.error());
  const auto address = resolve(options);
  if (!address) return std::unexpected(address.error());
  record.facts["address"] = address->to_string();
  auto ssl = make_client(context->get(), options, "");
  if (!ssl) return std::unexpected(ssl.error());

  const Nanos start = monotonic_now();
  const Nanos deadline = start + options.timeout;
  Observer observer(record, start);
  auto socket = connect_tcp(*address, deadline);
  if (!socket) return not_connected(socket.error(), record);
  observer.time("connect");
  if (options.starttls != StartTls::kNone) {
    const auto preamble =
        start_tls(socket->get(), options.starttls, server_name(options), deadline);
    if (!preamble) {
      return ended(record, "no STARTTLS",
                   std::format("{}: before TLS: {}", record.target, preamble.error().message));
    }
    record.sizes["starttls_sent"] = preamble->sent;
    record.sizes["starttls_received"] = preamble->received;
    observer.time("starttls");
  }

  Wire wire{.socket = socket->get(), .observer = observer};
  BIO* bio = make_bio(wire);
  if (bio == nullptr) return fail("TLS: out of memory");
  SSL_set_bio(ssl->get(), bio, bio);
  observer.attach(ssl->get());
  const auto connected = connect_loop(ssl->get(), options, wire, deadline, record);
  if (connected) observer.time("finished");
  finish(wire, record);
  if (!connected) return connected;
  if (!observer.saw_server_hello()) {
    return ended(record, "failed", record.target + ": no ServerHello could be read on the wire");
  }
  read_end(ssl->get(), record);
  record.outcome = "handshake";
  // Tells the server that nothing was cut short. What it sends after the handshake stays unread.
  SSL_set_msg_callback(ssl->get(), nullptr);
  SSL_shutdown(ssl->get());
  return {};
}

}  // namespace pqedge::measure::live
