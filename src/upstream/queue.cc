#include "upstream/queue.h"

#include <algorithm>
#include <utility>

namespace pqedge::upstream {
namespace {

// Room that nobody was told of (a server came back, another worker closed a connection) is found
// after this time.
constexpr Nanos kLookAgain = 50 * kMillisecond;

counters::Counter series(std::string_view name, std::string_view help, const std::string& pool,
                         counters::Kind kind = counters::Kind::counter) {
  return counters::Counter(name, help, {{"pool", pool}}, kind);
}

}  // namespace

struct WaitingRoom::Link {
  WaitingRoom* room;  // null once it is gone; read and written on its worker
};

// ---- Waiter ------------------------------------------------------------------------------------

Waiter::Waiter(WaitingRoom& room, Lease& lease, const Choice& choice, bool fresh, Nanos deadline)
    : room_(room), lease_(lease), choice_(choice), deadline_(deadline), fresh_(fresh) {
  lease_.wait_in(*this);
}

void Waiter::on_waiter_gone(Lease&) { room_.remove(*this); }

// ---- Queue -------------------------------------------------------------------------------------

Queue::Queue(const std::string& pool) {
  count_.waiting = series("pqedge_pool_queue_waiting", "Requests that wait for a server now.", pool,
                          counters::Kind::gauge);
  count_.waited =
      series("pqedge_pool_queue_waited_total", "Requests that waited for a server.", pool);
  count_.full =
      series("pqedge_pool_queue_full_total", "Requests refused since the queue was full.", pool);
  count_.late = series("pqedge_pool_queue_late_total",
                       "Requests refused since no server had room in time.", pool);
}

bool Queue::enter(uint32_t depth) {
  if (waiting_.fetch_add(1) >= depth) {
    waiting_.fetch_sub(1);
    return false;
  }
  count_.waiting.add();
  count_.waited.add();
  return true;
}

void Queue::leave() {
  waiting_.fetch_sub(1);
  count_.waiting.subtract();
}

void Queue::add(Waiter& waiter) {
  const std::lock_guard lock(mutex_);
  line_.push_back(waiter);
}

bool Queue::remove(Waiter& waiter) {
  const std::lock_guard lock(mutex_);
  static_cast<ListNode<Queue>&>(waiter).unlink();
  if (waiter.called_) calling_ = false;
  return waiter.called_;
}

void Queue::call(WaitingRoom& from) {
  std::shared_ptr<WaitingRoom::Link> link;
  net::Loop* loop = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (calling_ || line_.empty()) {
      missed_ = true;
      return;
    }
    Waiter& first = line_.pop_front();
    first.called_ = calling_ = true;
    missed_ = false;
    loop = &first.room_.loop_;
    if (loop == &from.loop_) {
      loop->defer(first.room_.serve_);
      return;
    }
    link = first.room_.link_;
  }
  loop->post([link] {
    if (link->room != nullptr) link->room->serve_called();
  });
}

void Queue::ask_for_connections(WaitingRoom& from) {
  const std::lock_guard lock(mutex_);
  for (WaitingRoom* room : rooms_) {
    if (&room->loop_ == &from.loop_) continue;
    room->loop_.post([link = room->link_] {
      if (link->room != nullptr) link->room->user_.give_up_idle();
    });
  }
}

bool Queue::is_called(const Waiter& waiter) {
  const std::lock_guard lock(mutex_);
  return waiter.called_;
}

bool Queue::put_back(Waiter& waiter) {
  const std::lock_guard lock(mutex_);
  waiter.called_ = calling_ = false;
  line_.push_front(waiter);
  return std::exchange(missed_, false);
}

// ---- WaitingRoom -------------------------------------------------------------------------------

WaitingRoom::WaitingRoom(net::Loop& loop, Queue& queue, QueueUser& user, bool by_connections)
    : loop_(loop),
      queue_(queue),
      user_(user),
      by_connections_(by_connections),
      timer_([](void* self) { static_cast<WaitingRoom*>(self)->on_timer(); }, this),
      serve_([](void* self) { static_cast<WaitingRoom*>(self)->serve_called(); }, this),
      link_(std::make_shared<Link>(this)) {
  const std::lock_guard lock(queue_.mutex_);
  queue_.rooms_.push_back(this);
}

WaitingRoom::~WaitingRoom() {
  {
    const std::lock_guard lock(queue_.mutex_);
    std::erase(queue_.rooms_, this);
  }
  link_->room = nullptr;
  while (!waiters_.empty()) {
    Waiter& w = waiters_.front();
    w.lease_.leave_place();
    remove(w);
  }
}

bool WaitingRoom::is_for_another() const {
  const std::lock_guard lock(queue_.mutex_);
  return !queue_.line_.empty() && &queue_.line_.front().room_.loop_ != &loop_;
}

bool WaitingRoom::wait(Lease& lease, const Choice& choice, bool fresh, uint32_t depth,
                       Nanos timeout) {
  const bool first = queue_.empty();
  if (!queue_.enter(depth)) {
    queue_.count_.full.add();
    return false;
  }
  auto* waiter = new Waiter(*this, lease, choice, fresh, loop_.now() + timeout);
  waiters_.push_back(*waiter);
  queue_.add(*waiter);
  look_again_by(waiter->deadline_);
  // Room that came after it was looked for and before anyone was seen to wait was told to nobody.
  if (first) {
    if (by_connections_) queue_.ask_for_connections(*this);
    queue_.call(*this);
  }
  return true;
}

// Takes it out and destroys it. A call that it had got goes to the next in line.
void WaitingRoom::remove(Waiter& waiter) {
  static_cast<ListNode<Waiter>&>(waiter).unlink();
  const bool called = queue_.remove(waiter);
  queue_.leave();
  delete &waiter;
  if (called && !queue_.empty()) queue_.call(*this);
}

void WaitingRoom::serve_called() {
  while (!waiters_.empty() && queue_.is_called(waiters_.front())) {
    if (serve(waiters_.front())) continue;
    if (queue_.put_back(waiters_.front())) queue_.call(*this);
    return;
  }
}

// False: there is no room; it waits on, still called.
bool WaitingRoom::serve(Waiter& waiter) {
  Lease& lease = waiter.lease_;
  lease.leave_place();
  static_cast<ListNode<Waiter>&>(waiter).unlink();
  // From here on the lease does not know of the waiter: it is ours.
  if (!user_.serve_waiter(lease, waiter.choice_, waiter.fresh_)) {
    lease.wait_in(waiter);
    waiters_.push_front(waiter);
    return false;
  }
  queue_.remove(waiter);
  queue_.leave();
  delete &waiter;
  if (!queue_.empty()) queue_.call(*this);  // there may be room for more
  return true;
}

void WaitingRoom::on_timer() {
  IntrusiveList<Waiter> late;
  waiters_.for_each([&](Waiter& w) {
    if (w.deadline_ > loop_.now()) return;
    static_cast<ListNode<Waiter>&>(w).unlink();
    late.push_back(w);
  });
  // The requester may do anything; also give up others that are late.
  while (!late.empty()) {
    Waiter& w = late.front();
    Requester& requester = w.lease_.requester();
    w.lease_.leave_place();
    remove(w);
    queue_.count_.late.add();
    requester.on_backend_failed(Failure::no_capacity,
                                "every server is at its maximum; the queue's time has passed");
  }
  if (waiters_.empty()) return;
  Nanos next = kNever;
  waiters_.for_each([&](Waiter& w) { next = std::min(next, w.deadline_); });
  look_again_by(next);
  if (by_connections_) queue_.ask_for_connections(*this);
  queue_.call(*this);
}

void WaitingRoom::look_again_by(Nanos deadline) {
  const Nanos when = std::min(deadline, loop_.now() + kLookAgain);
  if (!timer_.armed() || when < timer_.deadline()) timer_.arm_at(loop_, when);
}

}  // namespace pqedge::upstream
