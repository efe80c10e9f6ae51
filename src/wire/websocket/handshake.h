// The opening handshake of WebSocket (RFC 6455 4) as far as a proxy has a part in it: where a
// client of HTTP/2 or 3 shows no key (RFC 8441 5), we make one and check what the backend makes of
// it.
#pragma once

#include <string>
#include <string_view>

#include "base/arena.h"

namespace pqedge::websocket {

// A value of Sec-WebSocket-Key: 16 random bytes in Base64.
std::string_view new_key(Arena& arena);

// What Sec-WebSocket-Accept must be for that key (RFC 6455 4.2.2).
std::string accept_of(std::string_view key);

}  // namespace pqedge::websocket
