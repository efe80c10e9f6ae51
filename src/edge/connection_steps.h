// Steps about the connection that a request came on: whether it is secured, by which key exchange,
// and whether its handshake is complete.
#pragma once

#include "edge/steps.h"

namespace pqedge::edge {

// RFC 9110 7.4: a connection that is secured serves https only, a plain one http only.
Verdict check_scheme(Exchange& x);
// What the policy of connections says of one without ML-KEM, where it lets the handshake through.
Verdict check_key_exchange(Exchange& x);
// RFC 8470 3: what came as early data may be a replay until the client's Finished is here. A safe
// request without a body is acted on at once; any other waits for that, and is no risk then.
Verdict check_early_data(Exchange& x);

}  // namespace pqedge::edge
