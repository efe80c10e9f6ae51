// A connection to a backend that carries one tunnel and nothing else: what goes in comes out, with
// no HTTP around it (CONNECT, TCP listeners).
#pragma once

#include <memory>

#include "http/limits.h"
#include "http/stream.h"
#include "net/loop.h"
#include "net/stream.h"

namespace pqedge::bytes {

// Over a connected stream. Its one stream answers the request head, of which nothing is sent, with
// 200 and Response::tunnel, at the end of the turn.
std::unique_ptr<http::ClientConnection> make_client(net::Loop& loop,
                                                    std::unique_ptr<net::Stream> stream,
                                                    std::shared_ptr<const http::Limits> limits,
                                                    http::ClientConnectionHandler& handler);

}  // namespace pqedge::bytes
