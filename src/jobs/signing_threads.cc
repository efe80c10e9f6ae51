#include "jobs/signing_threads.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <format>

#include "base/counters.h"

namespace pqedge::jobs {
namespace {

// Beside a worker that wants the same CPU a signing thread gets a quarter of it: the worker has
// many clients to serve, it has one.
constexpr int kNice = 5;

const counters::Counter waiting("pqedge_slow_signatures_waiting",
                                "handshakes that wait for a slow signature, or whose is made", {},
                                counters::Kind::gauge);
const counters::Counter no_room("pqedge_slow_signatures_no_room_total",
                                "handshakes that found the queue of slow signatures full");
const counters::Counter over_share(
    "pqedge_slow_signatures_over_share_total",
    "handshakes of an address that had its share of slow signatures");
const counters::Counter too_late("pqedge_slow_signatures_too_late_total",
                                 "handshakes that waited for a slow signature past the deadline");
const counters::Counter nobody_waits("pqedge_slow_signatures_dropped_total",
                                     "handshakes whose client had gone before the slow signature");
const counters::Counter made("pqedge_slow_signatures_made_total",
                             "handshakes whose slow signature was made");

}  // namespace

class SigningThreads::RoomPlace final : public Place {
 public:
  RoomPlace(std::shared_ptr<Room> room, const Who& who) : room_(std::move(room)), who_(who) {}
  ~RoomPlace() override {
    const std::lock_guard lock(room_->mutex);
    --room_->taken;
    const auto it = room_->shares.find(who_);
    if (--it->second == 0) room_->shares.erase(it);
    waiting.subtract();
  }

 private:
  const std::shared_ptr<Room> room_;
  const Who who_;
};

SigningThreads::SigningThreads(const crypto::SigningSettings& settings)
    : room_(std::make_shared<Room>()) {
  room_->limits = settings;
}

std::shared_ptr<SigningThreads> SigningThreads::start(const crypto::SigningSettings& settings) {
  std::shared_ptr<SigningThreads> threads(new SigningThreads(settings));
  for (uint32_t i = 0; i < settings.threads; ++i) {
    threads->threads_.emplace_back([self = threads.get(), i] {
      pthread_setname_np(pthread_self(), std::format("signing/{}", i).c_str());
      setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kNice);
      self->work();
    });
  }
  return threads;
}

SigningThreads::~SigningThreads() { stop(); }

void SigningThreads::update(const crypto::SigningSettings& settings) {
  const std::lock_guard lock(room_->mutex);
  room_->limits = settings;
}

Nanos SigningThreads::deadline() const {
  const std::lock_guard lock(room_->mutex);
  return room_->limits.deadline;
}

void SigningThreads::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
  threads_.clear();
  queue_.clear();
}

SigningThreads::Who SigningThreads::who_of(const net::Address& peer) {
  Who who{};
  if (!peer.is_ip()) return who;  // a Unix socket: all are one
  who = peer.ip16();
  const bool v4 = who[10] == 0xff && who[11] == 0xff &&
                  std::all_of(who.begin(), who.begin() + 10, [](uint8_t b) { return b == 0; });
  if (!v4) std::fill(who.begin() + 8, who.end(), uint8_t{0});
  return who;
}

std::shared_ptr<crypto::SlowSigner::Place> SigningThreads::reserve(const net::Address& peer) {
  const Who who = who_of(peer);
  const std::lock_guard lock(room_->mutex);
  if (room_->taken >= room_->limits.queue) {
    no_room.add();
    return nullptr;
  }
  uint32_t& share = room_->shares[who];
  if (share >= room_->limits.share) {
    over_share.add();
    return nullptr;
  }
  auto place = std::make_shared<RoomPlace>(room_, who);
  ++share;
  ++room_->taken;
  waiting.add();
  return place;
}

void SigningThreads::submit(Task task) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back({std::move(task), monotonic_now()});
  }
  wake_.notify_one();
}

void SigningThreads::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (stopping_) return;
    Waiting next = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    take_up(std::move(next));
    lock.lock();
  }
}

// The task goes back whole: what it holds belongs to the worker, and so does its destruction. The
// place is free as soon as the signature is made.
void SigningThreads::take_up(Waiting next) {
  const bool wanted =
      next.task.dropped == nullptr || !next.task.dropped->load(std::memory_order_relaxed);
  const bool ran = wanted && monotonic_now() - next.since <= deadline();
  if (ran) next.task.run();
  (ran ? made : wanted ? too_late : nobody_waits).add();
  next.task.place = nullptr;
  net::Loop* loop = next.task.loop;
  loop->post([task = std::make_shared<Task>(std::move(next.task)), ran] { task->finished(ran); });
}

}  // namespace pqedge::jobs
