// A client's connection that carries one tunnel and nothing else: it is told as a CONNECT without a
// target, and becomes the tunnel with the head of the answer (http/stream.h).
#pragma once

#include <memory>

#include "http/limits.h"
#include "http/stream.h"
#include "net/facts.h"
#include "net/loop.h"
#include "net/stream.h"

namespace pqedge::bytes {

// Over a stream whose handshake, if any, is done. The request comes at the end of the turn. Nothing
// is read before the tunnel is there. An answer that begins none ends the connection, and none of
// it is sent.
std::unique_ptr<http::ServerConnection> make_server(net::Loop& loop,
                                                    std::unique_ptr<net::Stream> stream,
                                                    const net::ConnectionFacts& facts,
                                                    std::shared_ptr<const http::Limits> limits,
                                                    http::ServerConnectionHandler& handler);

}  // namespace pqedge::bytes
