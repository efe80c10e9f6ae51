// Every algorithm that pqcost knows by name, with the sizes that its standard fixes. A provider
// offers some of them; its encodings are checked against these sizes before it is timed.
#pragma once

#include <span>
#include <string_view>

#include "measure/provider/primitive.h"

namespace pqedge::measure {

struct CatalogueEntry {
  std::string_view name;
  Kind kind;
  Family family;
  // private_key is 0 where the standard fixes no length (RSA). For MODP and ffdhe it is the
  // prime's.
  Sizes sizes;
  // Signatures of this algorithm may be shorter than sizes.output (ECDSA's DER, Falcon).
  bool output_varies = false;
};

std::span<const CatalogueEntry> catalogue();
const CatalogueEntry* find_algorithm(std::string_view name);  // null: unknown
// Of a name that is in the catalogue.
Algorithm algorithm_of(std::string_view name);
Sizes sizes_of(std::string_view name);

}  // namespace pqedge::measure
