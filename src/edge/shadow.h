// Copies of requests for a second pool, whose answers nobody sees (R14).
#pragma once

#include "base/arena.h"
#include "base/intrusive_list.h"
#include "edge/attempt.h"
#include "edge/body_store.h"
#include "edge/snapshot.h"
#include "edge/target.h"
#include "net/loop.h"

namespace pqedge::edge {

class Shadows;

// One copy: its head at once, its body as the client sends it, and an attempt of its own once it is
// whole. It outlives the exchange that it was copied from.
class Shadow final : public ListNode<Shadow>, private AttemptOwner {
 public:
  ~Shadow();

  // Some of the body. False: it is longer than the plan allows; the shadow has given up.
  bool take(const Slice& bytes);
  // The request is whole.
  void send();
  // It will never be whole.
  void give_up();

 private:
  friend class Shadows;
  Shadow(Shadows& owner, const SnapshotRef& snapshot, const ShadowPlan& plan,
         const http::Request& request);
  void copy_head(const http::Request& from);
  void end(const counters::Counter& outcome);

  void on_attempt_ready(Attempt& attempt) override;
  void on_attempt_failed(Attempt&, upstream::Failure, std::string_view) override;
  void on_attempt_informational(Attempt&) override {}
  void on_attempt_head(Attempt& attempt, bool end) override;
  void on_attempt_body(Attempt& attempt, Slice bytes) override;
  void on_attempt_end(Attempt& attempt) override;
  void on_attempt_writable(Attempt&) override {}
  void on_attempt_lost(Attempt&, const Loss&) override;
  void on_attempt_timeout(Attempt&) override;
  proxy_protocol::Header attempt_proxy_header() const override { return proxy_header_; }
  uint64_t attempt_client() const override { return 0; }
  bool attempt_authenticates() const override { return false; }

  Shadows& owner_;
  SnapshotRef snapshot_;
  const ShadowPlan& plan_;  // of snapshot_
  Arena arena_;
  http::Request request_;
  BodyStore body_;
  proxy_protocol::Header proxy_header_;
  Attempt attempt_;
  net::Timer deadline_;
  bool ended_ = false;
};

// All of one worker.
class Shadows {
 public:
  explicit Shadows(net::Loop& loop);
  ~Shadows() { clear(); }

  // Draws, and copies the head of a request that is ready for a backend. Null: none is made. `from`
  // is asked for a PROXY header where the pool wants one.
  Shadow* begin(const SnapshotRef& snapshot, const ShadowPlan& plan, const http::Request& request,
                const AttemptOwner& from);
  void clear();

 private:
  friend class Shadow;
  void retire(Shadow& shadow);
  void clear_retired();

  net::Loop& loop_;
  IntrusiveList<Shadow> active_;   // owned
  IntrusiveList<Shadow> retired_;  // until the end of the turn
  net::Deferred clear_retired_;
};

}  // namespace pqedge::edge
