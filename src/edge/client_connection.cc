#include "edge/client_connection.h"

#include "base/text.h"
#include "edge/worker.h"
#include "wire/http1/server.h"
#include "wire/http2/server.h"

namespace pqedge::edge {
namespace {

const counters::Counter kHandshakesTimedOut("pqedge_handshake_timeouts_total",
                                            "TLS handshakes over TCP that took too long.");
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
  worker_.remove_connection(*this);
}

void ClientConnection::accept(Worker& worker, std::shared_ptr<const ListenerView> listener,
                              net::Fd fd, const net::Address& peer) {
  auto* c = new ClientConnection(worker, std::move(listener));
  const ListenerSettings& settings = c->listener_->settings;
  net::ConnectionFacts& facts = c->facts_;
  facts.id = worker.next_connection_id();
  facts.peer = peer;
  facts.accepted_at = worker.loop().now();
  if (c->listener_->address.is_unix()) {
    facts.local = c->listener_->address;
    facts.transport = net::Transport::unix_socket;
  } else if (c->listener_->address.is_any()) {
    if (auto local = net::local_address(fd.get())) facts.local = *local;
  } else {
    facts.local = c->listener_->address;
  }
  if (!settings.tls) {
    if (!c->listener_->address.is_unix()) facts.transport = net::Transport::tcp;
    c->start_codec(net::make_plain_stream(worker.loop(), std::move(fd)));
    return;
  }
  facts.transport = net::Transport::tls;
  const auto& contexts = worker.snapshot()->contexts();
  facts.policy = contexts->settings().id;
  c->stream_ = crypto::make_tls_server_stream(worker.loop(), std::move(fd), contexts, facts,
                                              c->listener_->alpn, *c);
  c->handshake_timer_.set(
      [](void* self) {
        kHandshakesTimedOut.add();
        delete static_cast<ClientConnection*>(self);
      },
      c);
  c->handshake_timer_.arm(worker.loop(), contexts->settings().handshake_timeout);
}

ClientConnection& ClientConnection::adopt(Worker& worker,
                                          std::shared_ptr<const ListenerView> listener,
                                          std::unique_ptr<http::ServerConnection> codec) {
  auto* c = new ClientConnection(worker, std::move(listener));
  c->codec_ = std::move(codec);
  if (worker.draining()) c->codec_->drain(worker.linger());
  return *c;
}

void ClientConnection::on_handshake_done() {
  handshake_timer_.disarm();
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
  codec_ = facts_.alpn == "h2"
               ? http2::make_server(loop, std::move(stream), facts_, limits, *this)
               : http1::make_server(loop, std::move(stream), facts_, limits, *this);
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
  } else {
    end_later();
  }
}

void ClientConnection::end_later() {
  handshake_timer_.disarm();
  worker_.loop().defer(end_);
}

}  // namespace pqedge::edge
