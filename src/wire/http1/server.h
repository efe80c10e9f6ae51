// HTTP/1.0 and 1.1 toward clients (RFC 9112).
#pragma once

#include <memory>

#include "http/limits.h"
#include "http/stream.h"
#include "net/stream.h"

namespace pqedge::http1 {

// `facts` and `handler` outlive the connection.
std::unique_ptr<http::ServerConnection> make_server(net::Loop& loop,
                                                    std::unique_ptr<net::Stream> stream,
                                                    const net::ConnectionFacts& facts,
                                                    std::shared_ptr<const http::Limits> limits,
                                                    http::ServerConnectionHandler& handler);

}  // namespace pqedge::http1
