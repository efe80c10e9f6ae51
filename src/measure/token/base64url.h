// base64url without padding (RFC 4648 5, RFC 7515 2).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace pqedge::measure {

std::string base64url(Bytes bytes);

// Strict: no padding, no other character, no bits left over.
std::optional<std::vector<uint8_t>> from_base64url(std::string_view text);

}  // namespace pqedge::measure
