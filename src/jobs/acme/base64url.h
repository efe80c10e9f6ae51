// base64url without padding (RFC 4648 5), as JOSE writes it, and plain base64.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace pqedge::acme {

std::string base64url(Bytes bytes);
inline std::string base64url(std::string_view text) { return base64url(as_bytes(text)); }

// Takes both alphabets, with or without padding; nullopt for anything else.
std::optional<std::string> from_base64(std::string_view text);

// At least one byte, and only of the alphabet of base64url.
bool is_base64url(std::string_view text);

}  // namespace pqedge::acme
