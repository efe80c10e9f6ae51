// Base64 with padding (RFC 4648 4).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pqedge::crypto {

std::string to_base64(std::string_view bytes);
// Strict: whole groups of four, padding at the end only, no white space. At most 64 KiB of text.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace pqedge::crypto
