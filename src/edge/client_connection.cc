#include "edge/client_connection.h"

#include "base/text.h"
#include "edge/worker.h"
#include "wire/bytes/server.h"
#include "wire/http1/server.h"
#include "wire/http2/server.h"

namespace pqedge::edge {
namespace {

const counters::Counter kHandshakesTimedOut(
    "pqedge_handshake_timeouts_total",
    "TLS handshakes over TCP, and PROXY headers, that took too long.");
const counters::Counter kProxyHeaders("pqedge_proxy_headers_total",
                                      "Connections whose PROXY header was taken.");
const counters::Counter kProxyHeadersRefused(
    "pqedge_proxy_headers_refused_total",
    "Connections closed for want of a PROXY header that can be read.");
const counters::Counter kOpen("pqedge_client_connections", "Client connections open now.", {},
                              counters::Kind::gauge);

}  // namespace

ClientConnection::ClientConnection(Worker& worker, std::shared_ptr<const ListenerView> listener)
    : worker_(worker),
      listener_(std::move(listener)),
      end_([](void* self) { delete static_cast<ClientConnection*>(self); }, this) {
  worker_.add_connection(*this);
  kOpen.add();
}

ClientConnection::~ClientConnection() {
  kOpen.subtract();
  worker_.forget_client(facts_.id);
  worker_.remove_connection(*this);
}

void ClientConnection::accept(Worker& worker, std::shared_ptr<const ListenerView> listener,
                              net::Fd fd, const net::Address& peer) {
  auto* c = new ClientConnection(worker, std::move(listener));
  c->facts_.id = worker.next_connection_id();
  c->facts_.accepted_at = worker.loop().now();
  c->set_addresses(fd.get(), peer);
  if (!c->listener_->wants_proxy_header(peer)) return c->begin(std::move(fd));
  c->proxy_header_.reset(new ProxyHeaderReader(worker.loop(), std::move(fd), *c));
  c->arm_handshake_timer();
  if (auto ok = c->proxy_header_->start(); !ok) c->on_proxy_failed(ok.error().message);
}

void ClientConnection::set_addresses(int fd, const net::Address& peer) {
  facts_.peer = peer;
  facts_.local = listener_->address;
  if (listener_->address.is_unix()) {
    facts_.transport = net::Transport::unix_socket;
  } else if (listener_->address.is_any()) {
    if (auto local = net::local_address(fd)) facts_.local = *local;
  }
}

void ClientConnection::on_proxy_header(net::Fd fd, const proxy_protocol::Header& header) {
  proxy_header_.reset();
  handshake_timer_.disarm();
  kProxyHeaders.add();
  // Without addresses it is the balancer's own connection: its own address holds.
  if (header.source.is_ip()) {
    facts_.peer = header.source;
    facts_.local = header.destination;
  }
  begin(std::move(fd));
}

void ClientConnection::on_proxy_failed(std::string_view why) {
  kProxyHeadersRefused.add();
  log::debug("listener", "{}: {}", facts_.peer.ip(), why);
  end_later();  // the reader is still on the call stack
}

void ClientConnection::begin(net::Fd fd) {
  net::Loop& loop = worker_.loop();
  if (!listener_->settings.tls) {
    if (!listener_->address.is_unix()) facts_.transport = net::Transport::tcp;
    start_codec(net::make_plain_stream(loop, std::move(fd)));
    return;
  }
  facts_.transport = net::Transport::tls;
  arm_handshake_timer();
  if (!listener_->passes_on(PassthroughTransport::tcp)) return begin_tls(std::move(fd), {});
  hello_.reset(new HelloReader(loop, std::move(fd), *this));
  if (auto ok = hello_->start(); !ok) on_hello_failed(ok.error().message);
}

void ClientConnection::begin_tls(net::Fd fd, Slice ahead) {
  const auto& contexts = worker_.snapshot()->contexts();
  stream_ = crypto::make_tls_server_stream(worker_.loop(), std::move(fd), contexts, facts_,
                                           listener_->alpn, *this, std::move(ahead));
}

void ClientConnection::on_hello(net::Fd fd, Slice bytes, std::string host) {
  hello_.reset();
  auto passthrough = listener_->passthrough->find(PassthroughTransport::tcp, host);
  if (passthrough == nullptr) return begin_tls(std::move(fd), std::move(bytes));
  handshake_timer_.disarm();
  facts_.sni = std::move(host);
  TcpPassthrough::Client client{.fd = std::move(fd),
                                .facts = facts_,
                                .listener = listener_->settings.name,
                                .hello = std::move(bytes)};
  passthrough_.reset(new TcpPassthrough(worker_, std::move(passthrough), std::move(client), *this));
  passthrough_->start();
}

void ClientConnection::on_hello_failed(std::string_view why) {
  log::debug("passthrough", "{}: {}", facts_.peer.ip(), why);
  end_later();  // the reader is still on the call stack
}

void ClientConnection::arm_handshake_timer() {
  handshake_timer_.set(
      [](void* self) {
        auto* connection = static_cast<ClientConnection*>(self);
        kHandshakesTimedOut.add();
        // The timer runs for PROXY headers too.
        if (connection->facts_.secure()) {
          crypto::note_handshake_end(crypto::HandshakeEnd::timeout);
        }
        // It began with early data, and the client never finished its handshake.
        if (connection->codec_ != nullptr) return connection->codec_->close_now();
        delete connection;
      },
      this);
  handshake_timer_.arm(worker_.loop(), worker_.snapshot()->shared().settings.tls.handshake_timeout);
}

ClientConnection& ClientConnection::adopt(Worker& worker,
                                          std::shared_ptr<const ListenerView> listener,
                                          std::unique_ptr<http::ServerConnection> codec,
                                          uint64_t id) {
  auto* c = new ClientConnection(worker, std::move(listener));
  c->facts_.id = id;
  c->codec_ = std::move(codec);
  if (worker.draining()) c->drain_soon();
  return *c;
}

// Accepted just before listening ended. A client that finds GOAWAY on a connection which it made
// for a request gives that request up: the first may come yet.
void ClientConnection::drain_soon() {
  drain_timer_.set(
      [](void* self) {
        auto* connection = static_cast<ClientConnection*>(self);
        connection->drain(connection->worker_.linger());
      },
      this);
  drain_timer_.arm(worker_.loop(), worker_.linger());
}

void ClientConnection::on_handshake_confirmed() {
  handshake_timer_.disarm();
  worker_.handshake_confirmed();
}

void ClientConnection::on_handshake_done() {
  // RFC 8737 3: the handshake was all that the CA wanted.
  if (facts_.alpn == crypto::kAcmeProtocol) {
    stream_->shutdown_write();
    stream_->flush();
    return end_later();
  }
  // Early data is served while the client's Finished is waited for.
  if (!facts_.handshake_pending) handshake_timer_.disarm();
  start_codec(std::move(stream_));
}

void ClientConnection::on_handshake_failed(const Error& error) {
  if (log::enabled(log::Level::debug)) {
    std::string text;
    append_text_escaped(text, error.message);
    log::debug("tls", "{}: handshake failed: {}", facts_.peer.ip(), text);
  }
  end_later();  // the stream is still on the call stack
}

void ClientConnection::start_codec(std::unique_ptr<net::Stream> stream) {
  const auto& limits = worker_.snapshot()->shared().limits;
  net::Loop& loop = worker_.loop();
  if (listener_->settings.takes_stream()) {
    codec_ = bytes::make_server(loop, std::move(stream), facts_, limits, *this);
    if (worker_.draining()) codec_->drain(worker_.linger());
    return;
  }
  if (facts_.alpn == "h2") {
    codec_ = http2::make_server(loop, std::move(stream), facts_, limits, *this);
    if (worker_.draining()) drain_soon();
    return;
  }
  codec_ = http1::make_server(loop, std::move(stream), facts_, limits, *this);
  if (worker_.draining()) codec_->drain(worker_.linger());
}

http::ServerStreamHandler& ClientConnection::on_stream(http::ServerStream& stream) {
  return worker_.new_exchange(stream, *listener_);
}

void ClientConnection::on_closed(std::string_view) { delete this; }

void ClientConnection::drain(Nanos linger) {
  if (codec_) codec_->drain(linger);
}

void ClientConnection::close_now() {
  if (codec_) {
    codec_->close_now();
  } else if (passthrough_) {
    passthrough_->cut("cut at shutdown");
  } else {
    end_later();
  }
}

void ClientConnection::end_later() {
  handshake_timer_.disarm();
  worker_.loop().defer(end_);
}

}  // namespace pqedge::edge
