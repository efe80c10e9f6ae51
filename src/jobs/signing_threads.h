// Threads that make slow signatures, so that workers do not.
#pragma once

#include <array>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "crypto/handshake_pause.h"
#include "crypto/settings.h"

namespace pqedge::jobs {

// Bounded in all it has: threads, handshakes in the queue or being signed, their share an address,
// and how long one waits. A signature under way is not broken off: the deadline is looked at when a
// thread takes a task up.
class SigningThreads final : public crypto::SlowSigner {
 public:
  // `settings.threads` is at least 1.
  static std::shared_ptr<SigningThreads> start(const crypto::SigningSettings& settings);
  ~SigningThreads() override;

  // Queue, share and deadline; what waits already stays.
  void update(const crypto::SigningSettings& settings);
  // Ends the threads, each after the signature it is at; what waits is dropped. Before the loops
  // that tasks name are destroyed.
  void stop();

  std::shared_ptr<Place> reserve(const net::Address& peer) override;
  void submit(Task task) override;

 private:
  // An IPv4 address, or the first half of an IPv6 one: a client has a /64 (RFC 6177).
  using Who = std::array<uint8_t, 16>;
  // Outlives the threads: places do.
  struct Room {
    std::mutex mutex;
    crypto::SigningSettings limits;
    std::map<Who, uint32_t> shares;  // none is 0
    uint32_t taken = 0;
  };
  class RoomPlace;
  struct Waiting {
    Task task;
    Nanos since = 0;
  };

  explicit SigningThreads(const crypto::SigningSettings& settings);
  static Who who_of(const net::Address& peer);
  void work();
  void take_up(Waiting waiting);
  Nanos deadline() const;

  const std::shared_ptr<Room> room_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Waiting> queue_;  // no longer than there are places
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace pqedge::jobs
