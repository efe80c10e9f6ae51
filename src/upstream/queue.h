// Requests that wait for a server of a pool to have room: one queue for the process, first in first
// out over all workers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/counters.h"
#include "base/intrusive_list.h"
#include "net/loop.h"
#include "upstream/choice.h"
#include "upstream/lease.h"

namespace pqedge::upstream {

class Queue;

// The worker's pool that put a request into the queue. It outlives the request.
class QueueUser {
 public:
  // Tries to give the lease a server now. False: there is still no room; nothing was called.
  virtual bool serve_waiter(Lease& lease, const Choice& choice, bool fresh) = 0;

 protected:
  ~QueueUser() = default;
};

// The waiting requests of one worker, for one pool. Lives on that worker, and at least as long as
// any of them.
class WaitingRoom {
 public:
  WaitingRoom(net::Loop& loop, std::shared_ptr<Queue> queue);
  ~WaitingRoom();

  // Nobody waits on any worker: whoever comes may try for a server at once.
  bool idle() const;
  // The lease waits, at most for `timeout`. False: `depth` requests wait already.
  bool wait(QueueUser& user, Lease& lease, const Choice& choice, bool fresh, uint32_t depth,
            Nanos timeout);
  // A server of this worker's has room: whoever waits longest is told, here or on its worker.
  void note_room();

 private:
  friend class Queue;
  struct Waiter;
  void serve_called();
  void on_timer();
  void arm();

  net::Loop& loop_;
  std::shared_ptr<Queue> queue_;
  IntrusiveList<Waiter> waiting_;  // of this worker, the oldest first; owned
  net::Timer timer_;               // deadlines, and another look where a call was missed
  net::Deferred serve_;
  // Shared with messages on their way here, which may come after this is gone.
  struct Link;
  std::shared_ptr<Link> link_;
};

}  // namespace pqedge::upstream
