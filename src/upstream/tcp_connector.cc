// Connections over TCP and Unix sockets, with and without TLS.
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "net/socket.h"
#include "upstream/connector.h"
#include "wire/bytes/client.h"
#include "wire/http1/client.h"
#include "wire/http2/client.h"

namespace pqedge::upstream {
namespace {

// RFC 7301 3.1.
constexpr std::string_view kHttp11 = "\x08http/1.1";
constexpr std::string_view kHttp2 = "\x02h2";
constexpr std::string_view kBoth = "\x02h2\x08http/1.1";

std::string_view alpn_of(const ConnectOptions& o) {
  if (o.purpose == Purpose::bytes) return kHttp11;
  switch (o.protocol) {
    case Protocol::h2: return kHttp2;
    case Protocol::automatic: return kBoth;
    case Protocol::http1:
    case Protocol::h2c:
    case Protocol::h3: break;
  }
  return kHttp11;
}

// By address: what this worker's connections were told of streams at a time.
std::shared_ptr<uint32_t> streams_of(const net::Address& address) {
  constexpr size_t kMost = 16384;
  static thread_local std::unordered_map<std::string, std::shared_ptr<uint32_t>> known;
  if (known.size() >= kMost) known.clear();
  auto& slot = known[address.to_string()];
  if (slot == nullptr) slot = std::make_shared<uint32_t>(UINT32_MAX);
  return slot;
}

class TcpConnector final : public Connector,
                           private net::StreamHandler,
                           private crypto::BackendTlsHandler {
 public:
  TcpConnector(ConnectOptions options, ConnectorHandler& handler)
      : options_(std::move(options)), handler_(handler) {}

  Result<void> begin() override {
    auto fd = net::connect_stream(address());
    if (!fd) return std::unexpected(fd.error());
    stream_ = make_stream(std::move(*fd));
    stream_->set_handler(this);
    return {};
  }

 private:
  // net::StreamHandler
  void on_readable() override {}
  void on_writable() override {}
  void on_stream_error(const Error& error) override {
    handler_.on_connect_failed(failure_of(error), error.message);
  }
  void on_connected() override {
    // Over TLS it went out before the handshake. Here it leaves in one segment with the request
    // that follows in the same turn.
    if (options_.tls == nullptr && !options_.preface.empty()) {
      stream_->write_copy(as_bytes(options_.preface));
    }
    if (options_.protocol == Protocol::h2 && options_.purpose != Purpose::bytes &&
        facts_.alpn != "h2") {
      handler_.on_connect_failed(Failure::tls_failed,
                                 "TLS: the server does not agree to HTTP/2 (ALPN h2)");
      return;
    }
    handler_.on_connected(make_codec(), facts_);
  }
  // crypto::BackendTlsHandler
  void on_tls_begun() override { handler_.on_handshake_begun(); }
  void on_tls_done(const crypto::BackendTlsFacts& facts) override { facts_ = facts; }
  void on_tls_failed(crypto::BackendFault fault, const Error& error) override {
    handler_.on_tls_failed(fault, error);
  }

  const net::Address& address() const {
    return options_.address.size() == 0 ? options_.server.address : options_.address;
  }

  std::unique_ptr<net::Stream> make_stream(net::Fd fd) {
    if (options_.tls == nullptr) return net::make_plain_stream(options_.loop, std::move(fd));
    return crypto::make_tls_client_stream(options_.loop, std::move(fd),
                                          {.context = options_.tls_context,
                                           .tls = options_.tls,
                                           .address = address(),
                                           .sessions = options_.tls_sessions,
                                           .learned = &options_.server.tls_group,
                                           .preface = options_.preface,
                                           .alpn = alpn_of(options_)},
                                          *this);
  }

  std::unique_ptr<http::ClientConnection> make_codec() {
    if (options_.purpose == Purpose::bytes) {
      return bytes::make_client(options_.loop, std::move(stream_), options_.limits, options_.owner);
    }
    if (options_.protocol == Protocol::h2c || facts_.alpn == "h2") {
      return http2::make_client(options_.loop, std::move(stream_), options_.limits,
                                {.max_streams = options_.max_streams,
                                 .probe_timeout = options_.probe_timeout,
                                 .server_streams = streams_of(address())},
                                options_.owner);
    }
    return http1::make_client(options_.loop, std::move(stream_), options_.limits, options_.owner);
  }

  ConnectOptions options_;
  ConnectorHandler& handler_;
  crypto::BackendTlsFacts facts_;
  std::unique_ptr<net::Stream> stream_;  // until it is connected
};

}  // namespace

std::unique_ptr<Connector> make_tcp_connector(ConnectOptions options, ConnectorHandler& handler) {
  return std::make_unique<TcpConnector>(std::move(options), handler);
}

}  // namespace pqedge::upstream
