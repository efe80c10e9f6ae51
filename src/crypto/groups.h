// Key-exchange groups: names, code points, presets, and the order in which we choose them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pqedge::crypto {

struct Group {
  std::string_view name;   // as configurations, logs and metrics write it; static
  std::string_view alias;  // another name in use ("secp256r1"); may be empty
  uint16_t id;             // NamedGroup (RFC 8446 4.2.7, RFC 10024)
  bool post_quantum;       // contains ML-KEM
  bool tls12;              // TLS 1.2 can use it
};

// All that we know, best-known first. Whether the library has one is another matter.
std::span<const Group> known_groups();
// By name or alias, whatever the case of letters; null if unknown.
const Group* find_group(std::string_view name);
const Group* find_group(uint16_t id);
bool is_post_quantum(std::string_view name);

inline constexpr std::string_view kGroupPresets[] = {"compatible", "hybrid-required", "cnsa2"};

// The groups that a setting names (a preset alone, or a list), in their order. Errors: an unknown
// name (with the closest known one), a name given twice, a preset within a list, a classical group
// before a post-quantum one (those are chosen first whatever a client prefers), an empty list.
Result<std::vector<const Group*>> resolve_groups(const std::vector<std::string>& setting);

// In OpenSSL's list syntax, in tuples: "X25519MLKEM768:SecP256r1MLKEM768/X25519:P-256". The first
// tuple with a group that the client lists wins, if need be by a HelloRetryRequest; within a tuple
// a group whose share the client has sent is preferred.
std::string openssl_group_list(std::span<const Group* const> groups);

// Whether the loaded library implements the group.
bool is_available(const Group& group);

}  // namespace pqedge::crypto
