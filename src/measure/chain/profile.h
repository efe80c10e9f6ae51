// The names and extensions that certificates are made with: they decide a chain's size beside its
// algorithms, so they are written down once, here and in docs/pqcost/chains.md.
#pragma once

#include <utility>
#include <vector>

#include "measure/chain/chain.h"

namespace pqedge::measure {

using ProfileName = std::vector<std::pair<const char*, const char*>>;  // type, text
using ProfileExtensions = std::vector<std::pair<int, const char*>>;    // NID, OpenSSL's syntax

struct Profile {
  const char* description;
  const char* server_name;
  ProfileName root_name, intermediate_name, leaf_name, client_name;
  ProfileExtensions root_extensions, intermediate_extensions, leaf_extensions, client_extensions;
};

const Profile& profile_of(ChainProfile profile);

}  // namespace pqedge::measure
