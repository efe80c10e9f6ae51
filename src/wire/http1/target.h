// The four forms of a request target (RFC 9112 3.2).
#pragma once

#include <expected>

#include "http/message.h"
#include "http/uri.h"

namespace pqedge::http1 {

// `request.target` holds the target as it came. Afterwards it holds path and query, "*", or (for
// CONNECT) nothing; the authority of the absolute and authority forms is in request.authority, the
// scheme of the absolute form in request.scheme.
std::expected<void, http::Refusal> split_target(http::Request& request);

}  // namespace pqedge::http1
