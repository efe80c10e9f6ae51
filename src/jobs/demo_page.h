// The page of the demonstration backend.
#pragma once

#include <string>

#include "http/message.h"

namespace pqedge::jobs {

// HTML that shows how `request` reached the edge, as the fields tell that the edge adds
// (X-HTTP-Version, X-TLS-*), and every field received.
std::string demo_page(const http::Request& request);

}  // namespace pqedge::jobs
