// The bearer token that lets a client over TCP do what the control socket does (RFC 6750 2.1).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pqedge::admin {

// Only a digest is kept.
class Token {
 public:
  // Reads the file: one line of at least 16 characters without spaces. Only its owner may read it.
  static Result<Token> load(const std::string& path);

  // Whether the value of an Authorization field carries it. The time that it takes says nothing of
  // how much of it was right.
  bool matches(std::string_view authorization) const;

 private:
  std::array<uint8_t, 32> digest_{};
};

}  // namespace pqedge::admin
