// What is published about algorithms, as a bill of materials asks for it.
#pragma once

#include <optional>
#include <string_view>

namespace pqedge::measure {

struct AlgorithmFacts {
  std::string_view name;              // as primitive.h spells it
  std::string_view primitive;         // CycloneDX's word: "kem", "signature", "key-agree", "ae"
  std::string_view parameter_set;     // may be empty
  std::string_view curve;             // may be empty
  std::string_view oid;               // may be empty
  std::optional<int> classical_bits;  // NIST SP 800-57 part 1, table 2
  std::optional<int> nist_level;  // category 1 to 5; 0: none is met (a quantum computer breaks it)
};

// Null: nothing is known here.
const AlgorithmFacts* algorithm_facts(std::string_view name);

}  // namespace pqedge::measure
