// What an ACME server says (RFC 8555 7.1, RFC 9773 4.1), read from JSON that may hold anything: it
// is bounded in size and depth, and every value is checked before it is used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pqedge::acme {

constexpr size_t kMaxJson = 256 * 1024;

struct Directory {
  std::string new_nonce;
  std::string new_account;
  std::string new_order;
  std::string renewal_info;  // empty: the CA has none
  std::string terms;         // a URL; may be empty
  bool needs_external_account = false;
};

// RFC 7807, with RFC 8555 6.7.1's subproblems. Texts are escaped for logs and bounded.
struct ProblemDocument {
  std::string type;  // without "urn:ietf:params:acme:error:" where it began so
  std::string text;  // in plain words, with what the CA said in detail
};

enum class Status : uint8_t {
  pending,
  ready,
  processing,
  valid,
  invalid,
  deactivated,
  expired,
  revoked,
};

struct Order {
  Status status = Status::pending;
  std::vector<std::string> authorizations;
  std::string finalize;
  std::string certificate;  // empty until it is valid
  std::optional<ProblemDocument> error;
};

struct ChallengeObject {
  std::string type;
  std::string url;
  std::string token;
  Status status = Status::pending;
  std::optional<ProblemDocument> error;
};

struct Authorization {
  Status status = Status::pending;
  std::string name;  // of the identifier, without "*."
  bool wildcard = false;
  std::vector<ChallengeObject> challenges;
};

struct RenewalInfo {
  int64_t start = 0;  // Unix seconds
  int64_t end = 0;
  std::string explanation;  // a URL; may be empty
};

Result<Directory> parse_directory(std::string_view json);
Result<Order> parse_order(std::string_view json);
Result<Authorization> parse_authorization(std::string_view json);
Result<ChallengeObject> parse_challenge(std::string_view json);
Result<Status> parse_account(std::string_view json);
Result<RenewalInfo> parse_renewal_info(std::string_view json);
// Of any body: what is no problem document is described as what it is.
ProblemDocument parse_problem(std::string_view body);

// RFC 3339 to Unix seconds; fractions are dropped.
std::optional<int64_t> parse_time(std::string_view text);

}  // namespace pqedge::acme
