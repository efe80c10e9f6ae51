// A thread that looks after backend servers beside the workers: checks and discovery.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "jobs/discovery.h"
#include "jobs/health.h"
#include "net/loop.h"

namespace pqedge::jobs {

class BackendJobs {
 public:
  // `tell` is called on the thread.
  static Result<std::unique_ptr<BackendJobs>> start(Discovery::Tell tell);
  // Nothing is called any more.
  ~BackendJobs();
  BackendJobs(const BackendJobs&) = delete;
  BackendJobs& operator=(const BackendJobs&) = delete;

  // From any thread; all there is to do from now on.
  void check(std::vector<HealthPool> pools);
  void discover(std::map<std::string, upstream::DiscoverySettings> pools);

 private:
  BackendJobs() = default;

  std::unique_ptr<net::Loop> loop_;
  std::unique_ptr<Health> health_;  // these two on the thread
  std::unique_ptr<Discovery> discovery_;
  std::thread thread_;
};

}  // namespace pqedge::jobs
