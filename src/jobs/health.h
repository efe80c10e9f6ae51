// Active checks of backend servers, once for the process.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "jobs/health_check.h"
#include "net/loop.h"
#include "upstream/server_state.h"

namespace pqedge::jobs {

// One pool whose servers are checked.
struct HealthPool {
  std::string name;
  upstream::HealthSettings settings;
  upstream::Protocol protocol = upstream::Protocol::http1;
  uint8_t send_proxy = 0;
  std::shared_ptr<const http::Limits> limits;
  std::shared_ptr<const crypto::BackendTls> tls;  // null: none
  std::vector<std::shared_ptr<upstream::ServerState>> servers;
};

// Lives on one loop.
class Health {
 public:
  explicit Health(net::Loop& loop);
  ~Health();

  // All pools with checks. A server that is checked as before goes on as it is; one that is checked
  // no more is up.
  void set(const std::vector<HealthPool>& pools);

 private:
  class Checked;
  struct Pool {
    std::shared_ptr<const HealthProbe> probe;
    std::map<upstream::ServerState*, std::unique_ptr<Checked>> servers;
  };
  std::shared_ptr<const HealthProbe> probe_for(const HealthPool& pool,
                                               const std::shared_ptr<const HealthProbe>& before);

  net::Loop& loop_;
  std::map<std::string, Pool> pools_;
};

}  // namespace pqedge::jobs
