// Which names a CA can be asked for.
#pragma once

#include <string_view>

namespace pqedge::acme {

// Lower case, letters, digits and hyphens, labels and length as RFC 1123 2.1 has them, and no IP
// address. `least` labels, at most ten: public CAs refuse more.
bool is_issuable_host(std::string_view name, int least = 1);

// The same, or a wildcard of it: "*.example.org".
bool is_certificate_name(std::string_view name);

}  // namespace pqedge::acme
