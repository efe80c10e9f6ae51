// Base64 (RFC 4648): bytes as text, in both alphabets.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace pqedge {

// With padding (RFC 4648 4).
std::string base64(Bytes bytes);
inline std::string base64(std::string_view bytes) { return base64(as_bytes(bytes)); }

// The alphabet for URLs, without padding (RFC 4648 5, RFC 7515 2).
std::string base64url(Bytes bytes);
inline std::string base64url(std::string_view bytes) { return base64url(as_bytes(bytes)); }

// Strict: whole groups of four, padding at the end only, no other character, no bit left over
// (RFC 4648 3.5).
std::optional<std::string> from_base64(std::string_view text);

// Strict: no padding, no other character, no bit left over.
std::optional<std::string> from_base64url(std::string_view text);

// What people paste: either alphabet, with or without padding.
std::optional<std::string> from_any_base64(std::string_view text);

// At least one character, and only of the alphabet of base64url.
bool is_base64url(std::string_view text);

}  // namespace pqedge
