// A configuration made ready to serve. Immutable; a reload makes a new one.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/counters.h"
#include "crypto/backend_tls.h"
#include "crypto/certificates.h"
#include "crypto/host_policy.h"
#include "crypto/tls.h"
#include "edge/settings.h"
#include "edge/steps.h"
#include "route/table.h"
#include "upstream/pool.h"

namespace pqedge::edge {

// What serving needs to know of one route: its steps, its pool, its counters.
struct RoutePlan {
  std::string name;
  const route::RouteSettings* settings = nullptr;  // null: no route
  std::vector<Step> steps;
  size_t pool = SIZE_MAX;  // index into Snapshot::settings.pools
  uint64_t max_body = UINT64_MAX;
  std::array<counters::Counter, 6> by_class;  // [status / 100], 0: no status was sent
};

// Shared by all workers.
class Snapshot {
 public:
  // Loads the certificates (`pem`, when given, is used instead: the default configuration's
  // self-signed pair) and compiles the routes.
  static Result<std::shared_ptr<const Snapshot>> build(Settings settings,
                                                       const crypto::PemPair* pem);

  Settings settings;
  std::shared_ptr<const http::Limits> limits;
  std::shared_ptr<const crypto::CertificateStore> certificates;  // null without TLS listeners
  std::shared_ptr<const crypto::PolicySet> policies;
  std::vector<std::shared_ptr<const crypto::BackendTls>> backend_tls;  // by pool; null: no TLS
  const RoutePlan& plan_for(const route::Subject& subject) const;
  const RoutePlan& no_route() const { return no_route_; }

 private:
  Snapshot() = default;
  Result<void> load_tls();
  std::unique_ptr<const route::Table> table_;
  std::vector<RoutePlan> plans_;  // by route index
  RoutePlan no_route_;
};

// One worker's part of a snapshot: contexts and pools. Lives on that worker; the count of its users
// is not atomic.
class WorkerSnapshot {
 public:
  WorkerSnapshot(std::shared_ptr<const Snapshot> shared,
                 std::shared_ptr<crypto::ServerContexts> contexts, upstream::Backends& backends);

  const Snapshot& shared() const { return *shared_; }
  const std::shared_ptr<const Snapshot>& shared_ref() const { return shared_; }
  const std::shared_ptr<crypto::ServerContexts>& contexts() const { return contexts_; }
  upstream::Pool& pool(size_t index) const { return *pools_[index]; }

  void retain() { ++users_; }
  void release() {
    if (--users_ == 0) delete this;
  }

 private:
  ~WorkerSnapshot() = default;
  std::shared_ptr<const Snapshot> shared_;
  std::shared_ptr<crypto::ServerContexts> contexts_;
  std::vector<std::unique_ptr<upstream::Pool>> pools_;
  uint32_t users_ = 1;
};

class SnapshotRef {
 public:
  SnapshotRef() = default;
  // Takes over the first reference.
  explicit SnapshotRef(WorkerSnapshot* adopted) : snapshot_(adopted) {}
  SnapshotRef(const SnapshotRef& o) : snapshot_(o.snapshot_) {
    if (snapshot_ != nullptr) snapshot_->retain();
  }
  SnapshotRef(SnapshotRef&& o) noexcept : snapshot_(std::exchange(o.snapshot_, nullptr)) {}
  SnapshotRef& operator=(SnapshotRef o) noexcept {
    std::swap(snapshot_, o.snapshot_);
    return *this;
  }
  ~SnapshotRef() {
    if (snapshot_ != nullptr) snapshot_->release();
  }
  explicit operator bool() const { return snapshot_ != nullptr; }
  const WorkerSnapshot* operator->() const { return snapshot_; }
  const WorkerSnapshot& operator*() const { return *snapshot_; }

 private:
  WorkerSnapshot* snapshot_ = nullptr;
};

}  // namespace pqedge::edge
