// Whether a request may become a tunnel, by its route.
#pragma once

#include "edge/steps.h"

namespace pqedge::edge {

// After the route is known. An upgrade that the route does not take is dropped in HTTP/1.1, where a
// server is free to ignore it (RFC 9110 7.8), and refused with 501 in HTTP/2 and 3 (RFC 9220 3).
Verdict check_tunnel(Exchange& x);

}  // namespace pqedge::edge
