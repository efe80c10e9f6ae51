#include "wire/http2/server.h"

#include "wire/http2/server_connection.h"

namespace pqedge::http2 {

std::unique_ptr<http::ServerConnection> make_server(net::Loop& loop,
                                                    std::unique_ptr<net::Stream> stream,
                                                    const net::ConnectionFacts& facts,
                                                    std::shared_ptr<const http::Limits> limits,
                                                    http::ServerConnectionHandler& handler) {
  auto connection =
      std::make_unique<Connection>(loop, std::move(stream), facts, std::move(limits), handler);
  connection->start();
  return connection;
}

}  // namespace pqedge::http2
