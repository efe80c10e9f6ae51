// Signed tokens (JWS compact serialisation, RFC 7515 7.1) and what they cost on HTTP (M14).
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "measure/record/record.h"

namespace pqedge::measure {

class Registry;

// The claims that each token carries: 210 bytes, the length of the reference figures elsewhere.
std::string_view default_token_claims();

struct TokenRunOptions {
  std::string claims{default_token_claims()};  // JSON, signed as it is
  const Registry* registry = nullptr;          // for Falcon; null: it is reported absent
  std::function<void(size_t done, size_t of, std::string_view next)> progress;
  const std::atomic<bool>* cancel = nullptr;
};

// Sets record.token_claims and record.documented_limits, appends to record.tokens, and to
// record.absent what no library here can sign. Cancelled: what was done stays and record.complete
// is false.
Result<void> run_tokens(const TokenRunOptions& options, Record& record);

}  // namespace pqedge::measure
