#include "jobs/backend_jobs.h"

#include <pthread.h>
#include <signal.h>

namespace pqedge::jobs {

Result<std::unique_ptr<BackendJobs>> BackendJobs::start(Discovery::Tell tell) {
  auto loop = net::Loop::create();
  if (!loop) return std::unexpected(loop.error());
  std::unique_ptr<BackendJobs> jobs(new BackendJobs);
  jobs->loop_ = std::move(*loop);
  jobs->health_ = std::make_unique<Health>(*jobs->loop_);
  jobs->discovery_ = std::make_unique<Discovery>(*jobs->loop_, std::move(tell));
  // Signals are the main thread's.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  jobs->thread_ = std::thread([j = jobs.get()] {
    pthread_setname_np(pthread_self(), "backends");
    j->loop_->run();
    // What lives here is freed here.
    j->health_.reset();
    j->discovery_.reset();
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return jobs;
}

BackendJobs::~BackendJobs() {
  loop_->stop();
  thread_.join();
}

void BackendJobs::check(std::vector<HealthPool> pools) {
  loop_->post([this, pools = std::move(pools)] { health_->set(pools); });
}

void BackendJobs::discover(std::map<std::string, upstream::DiscoverySettings> pools) {
  loop_->post([this, pools = std::move(pools)] { discovery_->set(pools); });
}

}  // namespace pqedge::jobs
