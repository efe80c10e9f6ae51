#include "edge/quic_listener.h"

#include "edge/client_connection.h"
#include "edge/worker.h"

namespace pqedge::edge {

Result<std::unique_ptr<QuicListener>> QuicListener::create(
    Worker& worker, std::shared_ptr<const ListenerView> view, net::UdpSocket socket, bool reading,
    const Snapshot& snapshot, std::shared_ptr<crypto::ServerContexts> contexts) {
  std::unique_ptr<QuicListener> l(new QuicListener(worker, std::move(view)));
  http3::Listener::Options options;
  l->fd_ = socket.fd.get();
  options.socket = std::move(socket);
  options.local = l->view_->address;
  options.self = worker.owner();
  options.keys = worker.shared().quic_keys;
  options.settings = snapshot.settings.quic;
  options.limits = snapshot.limits;
  options.reading = reading;
  auto listener =
      http3::Listener::create(worker.loop(), std::move(options), std::move(contexts), *l);
  if (!listener) return std::unexpected(listener.error());
  l->listener_ = std::move(*listener);
  return l;
}

// Once there it stays: connections that are passed on outlive the configuration that began them.
void QuicListener::update_passthrough() {
  if (passthrough_ != nullptr) {
    passthrough_->update(view_);
  } else if (view_->passes_on(PassthroughTransport::udp)) {
    passthrough_ = std::make_unique<UdpPassthrough>(worker_, *listener_, view_);
  }
}

void QuicListener::stop_accepting() {
  listener_->stop_accepting();
  if (passthrough_ != nullptr) passthrough_->stop_accepting();
}

void QuicListener::update(std::shared_ptr<const ListenerView> view) {
  view_ = std::move(view);
  const SnapshotRef snapshot = worker_.snapshot();
  listener_->update(snapshot->contexts(), snapshot->shared().limits,
                    snapshot->shared().settings.quic);
  update_passthrough();
}

http3::Acceptor::Verdict QuicListener::admit(const net::Address&) {
  return worker_.may_open_connection() ? Verdict::accept : Verdict::drop;
}

http::ServerConnectionHandler& QuicListener::on_http3_connection(
    std::unique_ptr<http::ServerConnection> connection, const net::ConnectionFacts& facts) {
  return ClientConnection::adopt(worker_, view_, std::move(connection), facts.id);
}

void QuicListener::on_handshake_confirmed() { worker_.handshake_confirmed(); }

bool QuicListener::is_live(const quic::Owner& owner) { return worker_.is_here(owner); }

void QuicListener::hand_over(const quic::Owner& owner, const quic::ReceivedDatagram& datagram) {
  worker_.hand_over(owner, view_->address, datagram);
}

bool QuicListener::has_predecessor() { return worker_.neighbours().may_ask(); }

bool QuicListener::ask_predecessor(const quic::ReceivedDatagram& datagram) {
  return worker_.neighbours().ask(view_->address, datagram);
}

}  // namespace pqedge::edge
