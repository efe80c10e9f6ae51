// HTTP/2 toward backends (RFC 9113): many requests at a time on one connection.
#pragma once

#include <cstdint>
#include <memory>

#include "http/limits.h"
#include "http/stream.h"
#include "net/stream.h"

namespace pqedge::http2 {

struct ClientOptions {
  uint32_t max_streams = 100;         // at a time, where the peer allows as many
  Nanos probe_timeout = 4 * kSecond;  // for the answer to a PING
  // Streams that the server allows at a time, from one connection to the next: a new one has no
  // SETTINGS yet, and some servers end a connection that has more. Null: not remembered.
  std::shared_ptr<uint32_t> server_streams = nullptr;
};

// Over a connected stream. It sends its preface at once.
std::unique_ptr<http::ClientConnection> make_client(net::Loop& loop,
                                                    std::unique_ptr<net::Stream> stream,
                                                    std::shared_ptr<const http::Limits> limits,
                                                    const ClientOptions& options,
                                                    http::ClientConnectionHandler& handler);

}  // namespace pqedge::http2
