#include "http/connection_auth.h"

#include "base/text.h"

namespace pqedge::http {
namespace {

bool is_scheme(std::string_view value, std::string_view scheme) {
  return value.size() >= scheme.size() && iequals(value.substr(0, scheme.size()), scheme) &&
         (value.size() == scheme.size() || value[scheme.size()] == ' ' ||
          value[scheme.size()] == ',');
}

bool begins_with_scheme(std::string_view value) {
  return is_scheme(value, "NTLM") || is_scheme(value, "Negotiate");
}

// A list of challenges (RFC 9110 11.6.1): commas part them, and the parameters of one as well.
bool lists_scheme(std::string_view value) {
  for (;;) {
    while (!value.empty() && (value.front() == ' ' || value.front() == '\t'))
      value.remove_prefix(1);
    if (begins_with_scheme(value)) return true;
    const size_t comma = value.find(',');
    if (comma == std::string_view::npos) return false;
    value.remove_prefix(comma + 1);
  }
}

}  // namespace

bool authenticates_connection(const Fields& request) {
  const Field* field = request.find(Name::authorization);
  return field != nullptr && begins_with_scheme(field->value);
}

// Also with 200: the last step of Negotiate (RFC 4559 4.2).
bool challenges_connection(const Response& response) {
  if (!response.fields.has(Name::www_authenticate)) return false;
  bool found = false;
  response.fields.for_each([&](const Field& field) {
    found = found || (field.id == Name::www_authenticate && lists_scheme(field.value));
  });
  return found;
}

}  // namespace pqedge::http
