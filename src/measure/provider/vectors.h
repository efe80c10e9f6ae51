// Published test vectors, a few for each algorithm, run before anything is timed (M11).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pqedge::measure {

// What a vector says, by `check`:
//   keygen              seed, public_sha256                     (KEM and signature)
//   decapsulate         private, ciphertext, secret
//   agree               private, peer, secret
//   verify              public, message, signature
//   sign_deterministic  private, message, signature_digest      (see vectors_slh_dsa.cc)
//   seal                key, iv, plaintext, associated, sealed
//   nist_kat            response_sha256
struct Vector {
  std::string algorithm;
  std::string check;
  std::string source;  // of whose it is, with its number there
  std::map<std::string, std::vector<uint8_t>> values;
};

using Vectors = std::vector<Vector>;

// The text form: "[algorithm] check | source", then lines "name = hex"; a line that begins with two
// blanks goes on with the value of the line before.
Result<Vectors> parse_vectors(std::string_view text);

// All that this program carries.
Vectors published_vectors();

// Their texts, one in each vectors_*.cc.
extern const std::string_view kKemVectors;
extern const std::string_view kMlDsaVectors;
extern const std::string_view kSlhDsaVectors;
extern const std::string_view kClassicalVectors;
extern const std::string_view kStatefulVectors;
extern const std::string_view kNistKatVectors;

}  // namespace pqedge::measure
