// The settings that a running process cannot change, as it began with them: a reload names those
// that a file now has otherwise, each time until they hold.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "edge/settings.h"

namespace pqedge::edge {

class RestartOnly {
 public:
  // `workers`: as the configuration said that decided their number.
  RestartOnly(const Settings& first, uint32_t workers);

  // A configuration that is in force: what it has taken for good is noted.
  void note(const Settings& settings);
  // One sentence for each key of `next` that does not take effect: what it is, and when it will.
  std::vector<std::string> differing(const Settings& next) const;
  const crypto::ProviderSettings& crypto() const { return crypto_; }
  uint32_t workers() const { return workers_; }

 private:
  uint32_t workers_;
  crypto::ProviderSettings crypto_;
  uint32_t signing_threads_;
  uint32_t log_queue_;
  int receive_buffer_;
  int send_buffer_;
  uint32_t replay_entries_ = 0;          // 0: no early data so far
  std::map<std::string, bool> v6_only_;  // by address, of the sockets that are bound
};

}  // namespace pqedge::edge
