// Finds the servers of pools: names in DNS, asked again when their TTL is over, and watched files.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "jobs/file_watch.h"
#include "jobs/resolver.h"
#include "net/loop.h"
#include "upstream/settings.h"

namespace pqedge::jobs {

// What became of one look.
struct DiscoveryReport {
  std::string pool;
  upstream::DiscoverySettings settings;  // that it was made with
  bool found = false;                    // `servers` are those of now; else `error` says why not
  std::vector<upstream::ServerSettings> servers;
  std::string error;
  uint64_t asked = 0;  // when, in seconds of the Unix epoch; 0: not yet
  uint32_t next = 0;   // seconds until it is asked again; 0: when the file changes
};

// Reads the list in a file.
Result<std::vector<upstream::ServerSettings>> read_server_file(const std::string& path);

// Lives on one loop.
class Discovery {
 public:
  // Called on the loop for each look; not called with what the last one found already.
  using Tell = std::function<void(DiscoveryReport)>;
  Discovery(net::Loop& loop, Tell tell);
  ~Discovery();

  // By pool. What is as it was goes on as it is.
  void set(const std::map<std::string, upstream::DiscoverySettings>& pools);

 private:
  class Entry;
  class DnsEntry;
  class FileEntry;
  Result<std::shared_ptr<Resolver>> resolver_for(const upstream::DiscoverySettings& settings);

  net::Loop& loop_;
  const Tell tell_;
  std::map<std::string, std::weak_ptr<Resolver>> resolvers_;  // by servers and time limit
  std::map<std::string, std::shared_ptr<Entry>> entries_;     // by pool
};

}  // namespace pqedge::jobs
