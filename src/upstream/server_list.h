// Servers of a pool as text: a watched file, and the body of an order to the admin API.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "upstream/settings.h"

namespace pqedge::upstream {

inline constexpr size_t kMaxServerListBytes = 1024 * 1024;
inline constexpr uint32_t kMaxWeight = 1000;
inline constexpr uint32_t kMaxPriority = 100;

// JSON: an array, or an object with such an array as "servers". An entry is an address as text, or
// an object with "address" and, if wanted, "weight", "priority" and "id". The error says which
// entry and what is wrong with it. An empty list is a list.
Result<std::vector<ServerSettings>> parse_server_list(std::string_view text);

// One entry.
Result<ServerSettings> parse_server(std::string_view text);

// Whether a server can be at that address: an IP with a port, or a Unix socket.
Result<void> check_server_address(const net::Address& address);

}  // namespace pqedge::upstream
