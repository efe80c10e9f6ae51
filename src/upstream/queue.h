// Requests that wait for a server of a pool to have room: one queue for the process, first in first
// out over all workers.
//
//   WaitingRoom::wait()            room was seen               served
//   -------------------> waiting ---------------> called ------------------> gone
//                           ^                       | no room after all
//                           +-----------------------+
//                           | deadline, or the client has left: gone
//
// Room is seen by a worker when one of its requests ends; it calls whoever waits longest, which is
// perhaps on another worker, by a message. One at a time is called, or the second could be faster.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/intrusive_list.h"
#include "net/loop.h"
#include "upstream/choice.h"
#include "upstream/lease.h"

namespace pqedge::upstream {

class WaitingRoom;

// A worker's pool.
class QueueUser {
 public:
  // Tries to give the lease a server now. False: there is still no room; nothing was called.
  virtual bool serve_waiter(Lease& lease, const Choice& choice, bool fresh) = 0;
  // Requests wait on another worker, perhaps for the want of connections: unused ones are closed.
  virtual void give_up_idle() = 0;

 protected:
  ~QueueUser() = default;
};

// A request in the queue, owned by itself: it goes when it is served, late, or given up.
class Waiter final : public ListNode<Waiter>, public ListNode<class Queue>, private WaitingPlace {
 public:
  Waiter(WaitingRoom& room, Lease& lease, const Choice& choice, bool fresh, Nanos deadline);

 private:
  friend class Queue;
  friend class WaitingRoom;
  void on_waiter_gone(Lease& lease) override;

  WaitingRoom& room_;
  Lease& lease_;
  const Choice choice_;
  const Nanos deadline_;
  bool called_ = false;  // guarded by the queue's mutex
  const bool fresh_;
};

// The order of all who wait, for the process. The short lock is only taken where someone waits.
class Queue {
 public:
  explicit Queue(const std::string& pool);

  bool empty() const { return waiting_.load(std::memory_order_relaxed) == 0; }
  uint32_t waiting() const { return waiting_.load(std::memory_order_relaxed); }

 private:
  friend class Waiter;
  friend class WaitingRoom;
  bool enter(uint32_t depth);
  void leave();
  void add(Waiter& waiter);
  // It is out of the order. True: it had been called, and someone else may be in its place.
  bool remove(Waiter& waiter);
  // Calls the first in line, or the next one once who is called has tried. `from` is the room of
  // the calling thread.
  void call(WaitingRoom& from);
  // Has the other workers give up connections that they keep unused.
  void ask_for_connections(WaitingRoom& from);
  bool is_called(const Waiter& waiter);
  // Puts the one that was called back in its place. True: there was another call meanwhile.
  bool put_back(Waiter& waiter);

  std::atomic<uint32_t> waiting_{0};
  std::mutex mutex_;
  IntrusiveList<Waiter, Queue> line_;  // without the one that is called, the oldest first
  std::vector<WaitingRoom*> rooms_;
  bool calling_ = false;  // one is called, and has not tried yet
  bool missed_ = false;   // there was another call since

  struct {
    counters::Counter waiting;  // gauge
    counters::Counter waited;
    counters::Counter full;
    counters::Counter late;
  } count_;
};

// The waiting requests of one worker, for one pool. Lives on that worker, and longer than they.
class WaitingRoom {
 public:
  // They outlive it. `by_connections`: connections are limited, so that unused ones of other
  // workers may be in the way.
  WaitingRoom(net::Loop& loop, Queue& queue, QueueUser& user, bool by_connections);
  ~WaitingRoom();

  // Somebody waits, here or on another worker: who comes now is not to overtake.
  bool occupied() const { return !queue_.empty(); }
  // The lease waits, at most for `timeout`; then its requester hears Failure::no_capacity. False:
  // `depth` requests wait already.
  bool wait(Lease& lease, const Choice& choice, bool fresh, uint32_t depth, Nanos timeout);
  // A server of this worker's has room, for one or for more.
  void note_room() {
    if (occupied()) queue_.call(*this);
  }
  // Whether the first in line waits on another worker.
  bool is_for_another() const;

 private:
  friend class Queue;
  friend class Waiter;
  struct Link;  // for messages on their way, which may come after the room has gone
  void serve_called();
  bool serve(Waiter& waiter);
  void remove(Waiter& waiter);
  void on_timer();
  void look_again_by(Nanos deadline);

  net::Loop& loop_;
  Queue& queue_;
  QueueUser& user_;
  const bool by_connections_;
  IntrusiveList<Waiter> waiters_;  // the oldest first: one that is called is the first
  net::Timer timer_;
  net::Deferred serve_;
  std::shared_ptr<Link> link_;
};

}  // namespace pqedge::upstream
