// The servers of a pool as they are now: of the configuration, of discovery, and of who changed
// them at run time.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "upstream/server_state.h"
#include "upstream/settings.h"

namespace pqedge::upstream {

// What names the server in affinity cookies and decides its place in consistent hashing: of
// ServerSettings::id, else of its address, and of the pool's name; the same in every process. Never
// 0.
uint64_t member_id(std::string_view pool, const ServerSettings& server);

struct Member {
  std::shared_ptr<ServerState> state;
  ServerSettings settings;  // its weight and priority now
  uint64_t id = 0;          // member_id()
};

using Members = std::vector<Member>;

// Those that the settings name.
std::shared_ptr<const Members> configured_members(Registry& registry, const PoolSettings& pool);

}  // namespace pqedge::upstream
