// The Upgrade field (RFC 9110 7.8), asked and answered.
#pragma once

#include <string_view>

#include "http/message.h"

namespace pqedge::http1 {

// The one protocol that a request without a body asks for, in lower case and in its arena. Empty:
// it asks for none, or in a way that a server is free to ignore: several protocols to choose from,
// a malformed one, no `Connection: upgrade`, HTTP/1.0, a WebSocket by another method than GET.
std::string_view requested_upgrade(const http::Request& request);

// Whether a 101 switches to exactly that protocol.
bool switches_to(const http::Response& response, std::string_view protocol);

}  // namespace pqedge::http1
