// Names that only a proxy may use toward a backend, and what backends take for them.
#pragma once

#include <cstdint>
#include <string_view>

namespace pqedge::http {

enum class Protection : uint8_t {
  none,
  exact,   // the name itself: a trusted peer may send it, but for "Proxy"
  folded,  // another spelling (K50): CGI, WSGI and PHP turn '_', '.' and others into one character
  client_certificate  // in any spelling: nobody may send it, it is made of this connection (K15)
};

// For names that have no number (Name::other); the fields with a number are judged by it, and their
// other spellings, which have none, here.
Protection protection_of(std::string_view name);

// Whether a backend could take one name for the other: equal but for case and for which byte stands
// between letters and digits.
bool folds_alike(std::string_view a, std::string_view b);

}  // namespace pqedge::http
