// Steps about the TLS policy of a request's host and the client's certificate (T11).
#pragma once

#include "edge/steps.h"
#include "net/facts.h"

namespace pqedge::edge {

// The connection was held to another policy than that of the request's host: 421 (RFC
// 9110 15.5.20).
Verdict check_tls_policy(Exchange& x);
// The route is for certain clients alone: 403.
Verdict check_client(Exchange& x);

// Of a route: whether it takes a client; also one without a certificate.
bool takes_client(const route::RouteSettings& route, const net::ConnectionFacts& facts);

}  // namespace pqedge::edge
