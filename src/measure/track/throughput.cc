#include "measure/track/throughput.h"

#include <barrier>
#include <thread>

#include "measure/host/pin.h"

namespace pqedge::measure {

namespace {

struct Worker {
  const Operation* exchange = nullptr;
  int core = 0;
  Result<void> outcome{};
  uint64_t done = 0;
  Nanos elapsed = 0;
};

// The first exchange is a warm-up; what is checked is checked outside of the counted time.
Result<void> warm_up(const Worker& worker) {
  if (auto pinned = pin_thread(worker.core); !pinned) return pinned;
  if (worker.exchange->prepare) {
    if (auto done = worker.exchange->prepare(); !done) return done;
  }
  return worker.exchange->run();
}

Result<void> work(Worker& worker, Nanos time, const std::atomic<bool>* cancel) {
  const Nanos begin = monotonic_now();
  do {
    if (auto done = worker.exchange->run(); !done) return done;
    ++worker.done;
    worker.elapsed = monotonic_now() - begin;
  } while (worker.elapsed < time && (cancel == nullptr || !cancel->load()));
  return worker.exchange->prepare ? worker.exchange->prepare() : Result<void>{};
}

}  // namespace

Result<Throughput> throughput(std::span<const Operation> exchanges, std::span<const int> cores,
                              Nanos time, const std::atomic<bool>* cancel) {
  std::vector<Worker> workers(exchanges.size());
  {
    std::barrier start(static_cast<std::ptrdiff_t>(workers.size()));
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < workers.size(); ++i) {
      workers[i].exchange = &exchanges[i];
      workers[i].core = cores[i % cores.size()];
      threads.emplace_back([&worker = workers[i], &start, time, cancel] {
        worker.outcome = warm_up(worker);
        start.arrive_and_wait();
        if (worker.outcome) worker.outcome = work(worker, time, cancel);
      });
    }
  }
  if (cancel != nullptr && cancel->load()) {
    return std::unexpected(Error{"cancelled", kCancelledCode});
  }
  Throughput total{.threads = static_cast<unsigned>(workers.size())};
  for (const Worker& worker : workers) {
    if (!worker.outcome) return std::unexpected(worker.outcome.error());
    total.per_second += static_cast<double>(worker.done) * static_cast<double>(kSecond) /
                        static_cast<double>(worker.elapsed);
  }
  total.per_second_per_thread = total.per_second / total.threads;
  return total;
}

std::vector<unsigned> thread_counts(unsigned most) {
  std::vector<unsigned> counts;
  for (unsigned n = 1; n < most; n = n < 8 ? n + 1 : n * 2) counts.push_back(n);
  if (most > 0) counts.push_back(most);
  return counts;
}

}  // namespace pqedge::measure
