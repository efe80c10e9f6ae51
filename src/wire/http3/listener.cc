#include "wire/http3/listener.h"

#include "wire/http3/connection.h"
#include "wire/quic/endpoint.h"

namespace pqedge::http3 {
namespace {

// Three that HTTP/3 needs, and some that mean nothing (RFC 9114 6.2.3).
constexpr uint64_t kUnidirectionalStreams = 8;

class ListenerImpl final : public Listener, private quic::EndpointHandler {
 public:
  ListenerImpl(std::shared_ptr<const http::Limits> limits, Acceptor& acceptor)
      : limits_(std::move(limits)), acceptor_(acceptor) {}

  Result<void> start(net::Loop& loop, Options options,
                     std::shared_ptr<crypto::ServerContexts> contexts) {
    auto endpoint = quic::Endpoint::create(loop,
                                           {.socket = std::move(options.socket),
                                            .local = options.local,
                                            .self = options.self,
                                            .keys = std::move(options.keys),
                                            .settings = options.settings,
                                            .alpn = {"h3"},
                                            .contexts = std::move(contexts),
                                            .max_streams = limits_->max_streams,
                                            .max_unidirectional_streams = kUnidirectionalStreams,
                                            .application_limits = limits_->max_head,
                                            .reading = options.reading},
                                           *this);
    if (!endpoint) return std::unexpected(endpoint.error());
    endpoint_ = std::move(*endpoint);
    return {};
  }

  void update(std::shared_ptr<crypto::ServerContexts> contexts,
              std::shared_ptr<const http::Limits> limits, const quic::Settings& settings) override {
    limits_ = std::move(limits);
    endpoint_->update(std::move(contexts), settings, limits_->max_streams);
    endpoint_->set_application_limits(limits_->max_head);
  }
  void receive_handed_over(const quic::ReceivedDatagram& datagram) override {
    endpoint_->receive_handed_over(datagram);
  }
  void stop_accepting() override { endpoint_->stop_accepting(); }
  size_t connections() const override { return endpoint_->connections(); }
  Result<void> set_reading(bool on) override { return endpoint_->set_reading(on); }
  bool receive_from_successor(const quic::ReceivedDatagram& datagram) override {
    return endpoint_->receive_from_successor(datagram);
  }
  void receive_returned(const quic::ReceivedDatagram& datagram) override {
    endpoint_->receive_returned(datagram);
  }
  size_t half_open() const override { return endpoint_->half_open(); }
  void set_filter(quic::DatagramFilter* filter) override { endpoint_->set_filter(filter); }
  void receive_unfiltered(const quic::ReceivedDatagram& datagram) override {
    endpoint_->receive_unfiltered(datagram);
  }
  bool send_datagram(const net::Address& local, const net::Address& peer, Bytes packet,
                     uint8_t ecn) override {
    return endpoint_->send_datagram(local, peer, packet, ecn);
  }
  bool can_send() override { return endpoint_->can_send(); }
  void refuse(const quic::ReceivedDatagram& datagram) override { endpoint_->refuse(datagram); }

 private:
  Verdict admit(const net::Address& peer) override {
    switch (acceptor_.admit(peer)) {
      case Acceptor::Verdict::accept: return Verdict::accept;
      case Acceptor::Verdict::retry: return Verdict::retry;
      case Acceptor::Verdict::drop: break;
    }
    return Verdict::drop;
  }

  quic::ConnectionHandler* on_connection(quic::Connection& quic) override {
    auto connection = std::make_unique<Connection>(quic, limits_);
    Connection* made = connection.get();
    made->start();
    made->set_handler(acceptor_.on_http3_connection(std::move(connection), made->facts()));
    return made;
  }

  void on_handshake_confirmed() override { acceptor_.on_handshake_confirmed(); }

  bool hand_over(const quic::Owner& owner, const quic::ReceivedDatagram& datagram) override {
    if (!acceptor_.is_live(owner)) return false;
    acceptor_.hand_over(owner, datagram);
    return true;
  }
  bool has_predecessor() override { return acceptor_.has_predecessor(); }
  bool ask_predecessor(const quic::ReceivedDatagram& datagram) override {
    return acceptor_.ask_predecessor(datagram);
  }

  std::shared_ptr<const http::Limits> limits_;
  Acceptor& acceptor_;
  std::unique_ptr<quic::Endpoint> endpoint_;
};

}  // namespace

Result<std::unique_ptr<Listener>> Listener::create(net::Loop& loop, Options options,
                                                   std::shared_ptr<crypto::ServerContexts> contexts,
                                                   Acceptor& acceptor) {
  auto listener = std::make_unique<ListenerImpl>(options.limits, acceptor);
  if (auto started = listener->start(loop, std::move(options), std::move(contexts)); !started) {
    return std::unexpected(started.error());
  }
  return listener;
}

}  // namespace pqedge::http3
