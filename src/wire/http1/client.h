// HTTP/1.1 toward backends (RFC 9112): one request at a time on a kept-alive connection.
#pragma once

#include <memory>

#include "http/limits.h"
#include "http/stream.h"
#include "net/stream.h"

namespace pqedge::http1 {

std::unique_ptr<http::ClientConnection> make_client(net::Loop& loop,
                                                    std::unique_ptr<net::Stream> stream,
                                                    std::shared_ptr<const http::Limits> limits,
                                                    http::ClientConnectionHandler& handler);

}  // namespace pqedge::http1
