// Answers to http-01 challenges (RFC 8555 8.3), by token. Immutable: a change makes another, which
// every worker gets by message.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace pqedge::edge {

struct TokenHash {
  using is_transparent = void;
  size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
};
using ChallengeAnswers = std::unordered_map<std::string, std::string, TokenHash, std::equal_to<>>;

}  // namespace pqedge::edge
