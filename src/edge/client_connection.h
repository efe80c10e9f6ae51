// A client's connection: accepted, perhaps a TLS handshake, then a codec that makes exchanges.
#pragma once

#include <memory>

#include "base/intrusive_list.h"
#include "crypto/tls.h"
#include "edge/hello_reader.h"
#include "edge/listener_view.h"
#include "edge/proxy_header.h"
#include "edge/tcp_passthrough.h"
#include "http/stream.h"
#include "net/facts.h"
#include "net/loop.h"
#include "net/stream.h"

namespace pqedge::edge {

class Worker;

// Owns itself: it ends with on_closed(), a failed handshake, or close_now().
class ClientConnection final : public ListNode<ClientConnection>,
                               public http::ServerConnectionHandler,
                               private ProxyHeaderHandler,
                               private HelloReaderHandler,
                               private PassthroughHandler,
                               private crypto::HandshakeHandler {
 public:
  // An accepted TCP or Unix socket.
  static void accept(Worker& worker, std::shared_ptr<const ListenerView> listener, net::Fd fd,
                     const net::Address& peer);
  // An HTTP/3 connection whose handshake is done.
  static ClientConnection& adopt(Worker& worker, std::shared_ptr<const ListenerView> listener,
                                 std::unique_ptr<http::ServerConnection> codec, uint64_t id);
  ~ClientConnection();

  void drain(Nanos linger);
  void close_now();

 private:
  ClientConnection(Worker& worker, std::shared_ptr<const ListenerView> listener);

  void on_proxy_header(net::Fd fd, const proxy_protocol::Header& header) override;
  void on_proxy_failed(std::string_view why) override;
  void on_hello(net::Fd fd, Slice bytes, std::string host) override;
  void on_hello_failed(std::string_view why) override;
  void on_passthrough_end() override { end_later(); }
  void on_handshake_done() override;
  void on_handshake_confirmed() override;
  void on_handshake_failed(const Error& error) override;
  http::ServerStreamHandler& on_stream(http::ServerStream& stream) override;
  void on_closed(std::string_view reason) override;
  void set_addresses(int fd, const net::Address& peer);
  // From the client's first byte on.
  void begin(net::Fd fd);
  // `ahead`: what was read of it already.
  void begin_tls(net::Fd fd, Slice ahead);
  void arm_handshake_timer();
  void start_codec(std::unique_ptr<net::Stream> stream);
  void drain_soon();
  void end_later();

  Worker& worker_;
  std::shared_ptr<const ListenerView> listener_;
  net::ConnectionFacts facts_;  // of TCP and Unix; an HTTP/3 codec holds its own
  std::unique_ptr<ProxyHeaderReader> proxy_header_;  // while its header is awaited
  std::unique_ptr<HelloReader> hello_;  // while a hello is awaited that may be another's
  std::unique_ptr<TcpPassthrough> passthrough_;
  std::unique_ptr<net::Stream> stream_;  // while the handshake runs
  std::unique_ptr<http::ServerConnection> codec_;
  net::Timer handshake_timer_;
  net::Timer drain_timer_;
  net::Deferred end_;
};

}  // namespace pqedge::edge
