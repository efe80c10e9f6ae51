#include "upstream/member.h"

#include <algorithm>

#include "upstream/hash.h"

namespace pqedge::upstream {

uint64_t member_id(std::string_view pool, const ServerSettings& server) {
  const uint64_t seed = stable_hash(pool);
  const uint64_t id = server.id.empty() ? stable_hash(server.address.to_string(), seed)
                                        : stable_hash(server.id, seed);
  return std::max<uint64_t>(id, 1);
}

std::shared_ptr<const Members> configured_members(Registry& registry, const PoolSettings& pool) {
  auto members = std::make_shared<Members>();
  members->reserve(pool.servers.size());
  for (const ServerSettings& server : pool.servers) {
    members->push_back({registry.get(pool.name, server), server, member_id(pool.name, server)});
  }
  return members;
}

}  // namespace pqedge::upstream
