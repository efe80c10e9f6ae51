// Who is named in X-Forwarded-For and Forwarded. Of this module's own use: see rules.h.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "http/fields.h"
#include "net/address.h"

namespace pqedge::http {

// "192.0.2.1", "192.0.2.1:80", "2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:80"; the port may be
// an obfuscated one (RFC 7239 6.3). Nothing for "unknown", "_hidden" and all else.
std::optional<net::Address> parse_node(std::string_view node);

bool is_trusted(const net::Address& address, const std::vector<net::Network>& trusted);

// The client behind trusted proxies: the lists name hops from the client on, each proxy adding who
// connected to it, so they are walked from their end while the hop is a trusted network.
// X-Forwarded- For is looked at first. Nothing when no list tells more than the connection.
std::optional<net::Address> client_behind(const Fields& fields,
                                          const std::vector<net::Network>& trusted);

}  // namespace pqedge::http
