// PQClean's functions. Inside the provider only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace pqedge::measure::pqclean {

struct KemFunctions {
  const char* name;
  int (*keypair)(uint8_t* public_key, uint8_t* private_key);
  int (*encapsulate)(uint8_t* ciphertext, uint8_t* secret, const uint8_t* public_key);
  int (*decapsulate)(uint8_t* secret, const uint8_t* ciphertext, const uint8_t* private_key);
};

struct SignatureFunctions {
  const char* name;
  int (*keypair)(uint8_t* public_key, uint8_t* private_key);
  int (*signature)(uint8_t* signature, size_t* length, const uint8_t* message,
                   size_t message_length, const uint8_t* private_key);
  int (*verify)(const uint8_t* signature, size_t length, const uint8_t* message,
                size_t message_length, const uint8_t* public_key);
  // Signature and message in one, as NIST's response files have them.
  int (*sign)(uint8_t* signed_message, size_t* length, const uint8_t* message,
              size_t message_length, const uint8_t* private_key);
};

std::span<const KemFunctions> kems();
std::span<const SignatureFunctions> signatures();

// See Provider::nist_response().
Result<std::string> nist_response(const KemFunctions& kem);
Result<std::string> nist_response(const SignatureFunctions& scheme);

}  // namespace pqedge::measure::pqclean
