// Authentication that holds for a connection, not for a request: NTLM, and Negotiate (RFC 4559),
// which may be NTLM within. A connection that carried it is not another client's to use.
#pragma once

#include "http/fields.h"
#include "http/message.h"

namespace pqedge::http {

// The request proves its user to the connection: Authorization of one of these schemes.
bool authenticates_connection(const Fields& request);
// The answer asks for such a proof, or takes a step of it: it has a challenge of these schemes.
bool challenges_connection(const Response& response);

}  // namespace pqedge::http
