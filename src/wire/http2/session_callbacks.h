// The nghttp2 session of a server connection: its options and its callbacks.
#pragma once

#include <nghttp2/nghttp2.h>

namespace pqedge::http2 {

class Connection;

// Null when out of memory.
nghttp2_session* new_server_session(Connection& connection);

}  // namespace pqedge::http2
