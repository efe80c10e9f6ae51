// Main thread: work on a worker's thread, waited for.
#pragma once

#include <future>
#include <memory>
#include <utility>

#include "base/result.h"
#include "edge/worker.h"

namespace pqedge::edge {

// Runs `task` on the worker's thread, between two turns of its loop, and returns its result.
template <typename Task>
Result<void> run_on(Worker& worker, Task task) {
  auto promise = std::make_shared<std::promise<Result<void>>>();
  auto future = promise->get_future();
  worker.loop().post(
      [promise, task = std::make_shared<Task>(std::move(task))] { promise->set_value((*task)()); });
  return future.get();
}

}  // namespace pqedge::edge
