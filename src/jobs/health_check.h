// One look at one server: does it take a connection, does it answer as it should.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/arena.h"
#include "crypto/backend_tls.h"
#include "http/limits.h"
#include "http/stream.h"
#include "net/loop.h"
#include "net/stream.h"
#include "upstream/connector.h"
#include "upstream/settings.h"

namespace pqedge::jobs {

// How the servers of a pool are looked at. The context is that of the thread of checks.
struct HealthProbe {
  upstream::HealthSettings settings;
  upstream::Protocol protocol = upstream::Protocol::http1;
  uint8_t send_proxy = 0;  // a PROXY header goes first: LOCAL, UNKNOWN
  std::shared_ptr<const http::Limits> limits;
  std::shared_ptr<const crypto::BackendTls> tls;  // null: none
  std::shared_ptr<SSL_CTX> tls_context;
};

// Calls `done` once, from a turn of the loop, and may be destroyed from the end of that turn on;
// before it, destroying it drops the look.
class HealthCheck final : private upstream::ConnectorHandler,
                          private http::ClientConnectionHandler,
                          private http::ClientStreamHandler,
                          private net::StreamHandler {
 public:
  // `well` is empty where nothing was learned: the look could not begin, for want of descriptors or
  // memory here.
  using Done = std::function<void(std::optional<bool> well, std::string text, Nanos took)>;
  HealthCheck(net::Loop& loop, upstream::ServerState& server,
              std::shared_ptr<const HealthProbe> probe, Done done);
  ~HealthCheck();

  void begin();

 private:
  static constexpr size_t kMostBody = 64 * 1024;

  // upstream::ConnectorHandler
  void on_handshake_begun() override {}
  void on_connected(std::unique_ptr<http::ClientConnection> connection,
                    const crypto::BackendTlsFacts& facts) override;
  void on_connect_failed(upstream::Failure why, std::string_view detail) override;
  void on_tls_failed(crypto::BackendFault fault, const Error& error) override;
  // http::ClientConnectionHandler
  void on_available() override {}
  void on_client_connection_closed(std::string_view reason) override;
  // http::ClientStreamHandler
  http::Response& response() override { return *response_; }
  void on_informational() override {}
  void on_response_head(bool end) override;
  void on_response_body(Slice bytes) override;
  void on_response_end() override;
  void on_request_writable() override {}
  void on_response_reset(http::Abort why, bool unanswered, std::string_view detail) override;
  // net::StreamHandler, of a look that only connects
  void on_readable() override {}
  void on_writable() override {}
  void on_stream_error(const Error& error) override { not_begun(error); }
  void on_connected() override { finish(true, "connected"); }

  void begin_connecting_only(const net::Address& address);
  void send_request();
  void send_grpc();
  void judge();
  void judge_grpc();
  bool status_is_well() const;
  void not_begun(const Error& error);
  void finish(std::optional<bool> well, std::string text);
  void end();
  void drop_connection();

  net::Loop& loop_;
  upstream::ServerState& server_;
  const std::shared_ptr<const HealthProbe> probe_;
  Done done_;
  Nanos began_ = 0;
  std::unique_ptr<net::Stream> plain_;
  std::unique_ptr<upstream::Connector> connector_;
  std::unique_ptr<http::ClientConnection> connection_;
  http::ClientStream* stream_ = nullptr;
  Arena arena_;
  std::optional<http::Request> request_;
  std::optional<http::Response> response_;
  std::string body_;
  uint16_t status_ = 0;
  bool finished_ = false;
  bool closing_ = false;  // the connection was told to end in good order
  net::Timer timer_;
  net::Deferred end_;
};

// The body of an answer to grpc.health.v1.Health/Check: one message in gRPC's framing. An error
// says what is wrong with it; else whether the service says SERVING.
Result<bool> read_grpc_health(std::string_view body);
// Of the question.
std::string grpc_health_request(std::string_view service);

}  // namespace pqedge::jobs
