// Orders about the servers of pools, as they come over HTTP.
#pragma once

#include <string_view>

#include "base/result.h"
#include "edge/pool_keeper.h"
#include "http/message.h"

namespace pqedge::admin {

// PUT /backends/POOL/servers with a list of servers, or POST /backends/POOL/ORDER, which is add,
// remove, weight, drain, ready or reset, with {"server": "..."} as JSON. The code of an error is
// the status to answer with: 400, 404, 405.
Result<edge::PoolOrder> read_order(http::Method method, std::string_view path,
                                   std::string_view body);

}  // namespace pqedge::admin
