// An ACME error (RFC 8555 6.7) in plain words, and times as ACME writes them.
#pragma once

#include <string>
#include <string_view>

namespace pqedge::acme {

// "badNonce" of "urn:ietf:params:acme:error:badNonce"; others as they are, escaped and bounded.
std::string short_type(std::string_view type);
// One line: what it means, and what the CA says of it in detail.
std::string problem_text(std::string_view type, std::string_view detail);
std::string subproblem_text(std::string_view name, std::string_view type, std::string_view detail);

}  // namespace pqedge::acme
