// Connections over QUIC: HTTP/3.
#include <algorithm>
#include <memory>
#include <utility>

#include "upstream/connector.h"
#include "wire/http3/client_connection.h"
#include "wire/quic/client_connection.h"

namespace pqedge::upstream {
namespace {

constexpr std::string_view kHttp3 = "\x02h3";  // RFC 7301 3.1
constexpr uint64_t kLeastWindow = 16 * 1024;

class QuicConnector final : public Connector, private quic::ClientObserver {
 public:
  QuicConnector(ConnectOptions options, ConnectorHandler& handler)
      : options_(std::move(options)),
        handler_(handler),
        http3_(std::make_unique<http3::ClientConnection>(
            options_.loop, options_.limits,
            http3::ClientOptions{.max_streams = options_.max_streams,
                                 .probe_timeout = options_.probe_timeout},
            options_.owner)),
        codec_(*http3_),
        quic_(options_.loop, quic_options(), codec_, *this) {
    codec_.attach(quic_);
  }
  // The codec points into the connection.
  ~QuicConnector() override { http3_.reset(); }

  Result<void> begin() override { return quic_.start(); }

 private:
  quic::ClientOptions quic_options() const {
    const uint64_t window = std::max<uint64_t>(options_.limits->body_window, kLeastWindow);
    return {.tls = {.context = options_.tls_context,
                    .tls = options_.tls,
                    .address =
                        options_.address.size() == 0 ? options_.server.address : options_.address,
                    .sessions = options_.tls_sessions,
                    .learned = &options_.server.tls_group,
                    .preface = {},
                    .alpn = kHttp3},
            .stream_window = window,
            .connection_window = window * std::max<uint64_t>(options_.max_streams, 1)};
  }

  // ---- quic::ClientObserver ----
  void on_server_heard() override { handler_.on_handshake_begun(); }
  void on_handshake_done(const crypto::BackendTlsFacts& facts) override {
    codec_.start();
    handler_.on_connected(std::move(http3_), facts);
  }
  void on_unreachable(std::string_view why) override {
    handler_.on_connect_failed(Failure::connect_failed, why);
  }
  void on_tls_failed(crypto::BackendFault fault, const Error& error) override {
    handler_.on_tls_failed(fault, error);
  }

  const ConnectOptions options_;
  ConnectorHandler& handler_;
  std::unique_ptr<http3::ClientConnection> http3_;  // until it is connected
  http3::ClientConnection& codec_;
  quic::ClientConnection quic_;
};

}  // namespace

std::unique_ptr<Connector> make_quic_connector(ConnectOptions options, ConnectorHandler& handler) {
  return std::make_unique<QuicConnector>(std::move(options), handler);
}

}  // namespace pqedge::upstream
