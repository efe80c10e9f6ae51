#include "wire/http3/decoded_field.h"

#include "http/uri.h"

namespace pqedge::http3 {

std::string_view kept(Arena& arena, std::string_view text, bool is_static) {
  return is_static ? text : arena.copy(text);
}

std::string_view fault_of(const DecodedField& f) {
  if (!f.name_is_static && !http::is_lower_token(f.name)) return "field name is malformed";
  if (!f.value_is_static && !http::is_field_value(f.value)) return "field value is malformed";
  return {};
}

void append(http::Fields& fields, Arena& arena, const DecodedField& f) {
  const http::Name id = http::known_name(f.name);
  fields.push({.name = id != http::Name::other ? http::lower_name(id)
                                               : kept(arena, f.name, f.name_is_static),
               .value = kept(arena, f.value, f.value_is_static),
               .id = id,
               .sensitive = f.never_index});
}

}  // namespace pqedge::http3
