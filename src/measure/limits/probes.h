// What is asked of every program: real tokens, cookies and certificates, and the largest it takes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "measure/limits/client.h"

namespace pqedge::measure {

enum class ProbePlace : uint8_t { field, target };

struct Probe {
  std::string what;
  size_t bytes = 0;  // of the token, cookie or field value that is named
  ProbePlace place = ProbePlace::field;
  LimitRequest request;
};

// Tokens are signed and certificates minted anew.
Result<std::vector<Probe>> make_probes();

LimitRequest bearer_request(const std::string& token);
LimitRequest target_request(const std::string& token);

struct Largest {
  size_t accepted = 0;   // bytes of the token
  bool bounded = false;  // one byte more was refused
  std::string beyond;    // how
};

// By bisection between `least`, which has to be taken, and `most`.
Result<Largest> find_largest(uint16_t port, HttpVersion version, ProbePlace place, size_t least,
                             size_t most);

}  // namespace pqedge::measure
