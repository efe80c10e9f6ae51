// 103 Early Hints (RFC 8297).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"

namespace pqedge::content {

inline constexpr size_t kMaxEarlyHints = 32;       // links of a route
inline constexpr size_t kMaxEarlyHintSize = 2048;  // bytes of one

// Why the text is not one link of a Link field (RFC 8288 3); empty: it is one.
std::string_view link_fault(std::string_view link);

// Whether the client may be about to load a page. A browser says what it loads (Sec-Fetch-Mode),
// and what is not a page needs nothing else; others may.
bool wants_early_hints(const http::Request& request);

// The views are into `links`, each of which is a Link field of its own.
void fill_early_hints(http::Response& hints, const std::vector<std::string>& links);

// Of a backend's 1xx: without what holds for one hop, and what speaks of the backend's own address
// or of a body.
void strip_informational(http::Response& response);

}  // namespace pqedge::content
