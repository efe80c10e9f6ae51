// A configuration made ready to serve. Immutable; a reload makes a new one.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/counters.h"
#include "content/error_pages.h"
#include "crypto/backend_tls.h"
#include "crypto/certificates.h"
#include "crypto/host_policy.h"
#include "crypto/tls.h"
#include "edge/member_table.h"
#include "edge/retry.h"
#include "edge/route_shape.h"
#include "edge/settings.h"
#include "edge/steps.h"
#include "edge/target.h"
#include "route/table.h"
#include "upstream/pool.h"

namespace pqedge::edge {

// Connections without HTTP of one listener.
struct StreamCount {
  explicit StreamCount(const std::string& listener);
  counters::Counter connections;
  counters::Counter failed;
  counters::Counter bytes_in;  // from clients
  counters::Counter bytes_out;
};

// What serving needs to know of one route: its steps, its pool, its counters.
struct RoutePlan {
  std::string name;
  const route::RouteSettings* settings = nullptr;  // null: no route
  std::vector<Step> steps;
  size_t pool = SIZE_MAX;  // index into Snapshot::settings.pools
  Target target;           // that pool, and under which limits
  ShadowPlan shadow;
  uint64_t max_body = UINT64_MAX;
  std::shared_ptr<const RouteShape> shape;    // null: what passes stays as it is
  std::array<counters::Counter, 6> by_class;  // [status / 100], 0: no status was sent
  std::shared_ptr<const StreamCount> stream;  // only where it is one of a listener without HTTP
};

// Shared by all workers.
class Snapshot {
 public:
  ~Snapshot();
  // Loads the certificates (`pem`, when given, is used instead: the default configuration's
  // self-signed pair) and compiles the routes. Canaries whose settings are those of `earlier` are
  // taken over from it, with what was set by hand.
  static Result<std::shared_ptr<const Snapshot>> build(Settings settings,
                                                       const crypto::PemPair* pem,
                                                       const Snapshot* earlier = nullptr);

  Settings settings;
  std::shared_ptr<const http::Limits> limits;
  std::shared_ptr<const crypto::CertificateStore> certificates;  // null without TLS listeners
  std::shared_ptr<const crypto::PolicySet> policies;
  std::vector<std::shared_ptr<const crypto::BackendTls>> backend_tls;  // by pool; null: no TLS
  const RoutePlan& plan_for(const route::Subject& subject) const;
  const RoutePlan& no_route() const { return no_route_; }
  // Of CONNECT, whose target is the request's host and port: the first in the file that takes it.
  const RoutePlan& plan_for_connect(const route::Subject& subject) const;
  bool serves_connect() const { return !connects_.empty(); }
  // Of connections to a listener without HTTP.
  const RoutePlan& plan_for_stream(std::string_view listener) const;
  std::unique_ptr<const content::ErrorPages> error_pages;

  // The canaries of all routes, for the control socket.
  std::vector<std::shared_ptr<route::Canary>> canaries() const;
  std::shared_ptr<route::Canary> canary_of(std::string_view route) const;  // null: it has none

 private:
  Snapshot();
  Result<void> load_tls();
  Result<void> plan_streams();
  Result<void> plan_shadow(const route::RouteSettings& route, RoutePlan& plan) const;
  Result<void> load_shapes(const Snapshot* earlier);
  std::unique_ptr<const route::Table> table_;
  std::vector<RoutePlan> plans_;    // by route index
  std::vector<uint32_t> connects_;  // indices of the routes that take CONNECT
  // By the listener's name; the settings are made of the listener's.
  std::map<std::string, std::pair<route::RouteSettings, RoutePlan>, std::less<>> streams_;
  RoutePlan no_route_;
};

// One worker's part of a snapshot: contexts and pools. Lives on that worker; the count of its users
// is not atomic.
class WorkerSnapshot {
 public:
  WorkerSnapshot(std::shared_ptr<const Snapshot> shared,
                 std::shared_ptr<crypto::ServerContexts> contexts, upstream::Backends& backends,
                 const MemberTable& members, uint32_t workers);

  const Snapshot& shared() const { return *shared_; }
  const std::shared_ptr<const Snapshot>& shared_ref() const { return shared_; }
  const std::shared_ptr<crypto::ServerContexts>& contexts() const { return contexts_; }
  upstream::Pool& pool(size_t index) const { return *pools_[index]; }
  RetryBudget& budget(size_t pool) const { return budgets_[pool]; }

  void retain() { ++users_; }
  void release() {
    if (--users_ == 0) delete this;
  }

 private:
  ~WorkerSnapshot() = default;
  std::shared_ptr<const Snapshot> shared_;
  std::shared_ptr<crypto::ServerContexts> contexts_;
  std::vector<std::unique_ptr<upstream::Pool>> pools_;
  mutable std::vector<RetryBudget> budgets_;  // by pool
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
