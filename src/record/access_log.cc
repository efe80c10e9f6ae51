#include "record/access_log.h"

#include <algorithm>

#include "base/counters.h"
#include "base/log.h"
#include "record/access_line.h"
#include "record/log_thread.h"

namespace pqedge::record {
namespace {

const counters::Counter g_access_lines_dropped(
    "pqedge_access_log_dropped_total", "Access log lines lost because the writer was behind.");
const counters::Counter g_written("pqedge_access_log_lines_total",
                                  "Access log lines handed to the writer.");

constexpr size_t kUsualRecord = 512;  // what `queue` counts
constexpr size_t kLeastRing = 32 * 1024;
constexpr int kRecordsADrain = 64;

}  // namespace

void Recorder::push_copy(const AccessRecord& record) {
  uint8_t* place = ring_.reserve(packed_size(record));
  if (place == nullptr) {
    g_access_lines_dropped.add();
    return;
  }
  pack(record, place);
  ring_.commit();
  g_written.add();
  thread_->announce();
  if (ring_.used_by_writer() > ring_.capacity() / 2) thread_->hurry();
}

Result<std::unique_ptr<AccessLog>> AccessLog::open(const LogSettings& settings, unsigned workers) {
  std::unique_ptr<AccessLog> log(new AccessLog);
  const size_t records = std::max<size_t>(1, settings.queue / std::max(1u, workers));
  const size_t ring = std::max(kLeastRing, records * kUsualRecord);
  for (unsigned i = 0; i < workers; ++i) {
    log->recorders_.emplace_back(new Recorder(ring, log->enabled_));
  }
  // While it is off nothing is written; the place of the file is taken by a stream of the process.
  auto file = LogFile::open(settings.access_file.empty() ? "-" : settings.access_file);
  if (!file) return std::unexpected(file.error());
  auto thread = LogThread::start(
      "access", std::move(*file), [l = log.get()](std::string& out) { return l->drain(out); },
      [](std::string_view what) { log::error("access log", "{}", what); });
  if (!thread) return std::unexpected(thread.error());
  log->thread_ = std::move(*thread);
  for (const auto& recorder : log->recorders_) recorder->thread_ = log->thread_.get();
  log->enabled_.store(!settings.access_file.empty(), std::memory_order_relaxed);
  return log;
}

AccessLog::~AccessLog() = default;

bool AccessLog::drain(std::string& out) {
  bool any = false;
  for (const auto& recorder : recorders_) {
    ByteRing& ring = recorder->ring_;
    for (int i = 0; i < kRecordsADrain; ++i) {
      const auto packed = ring.front();
      if (packed.empty()) break;
      append_access_line(out, packed);
      ring.pop();
      any = true;
    }
  }
  return any;
}

void AccessLog::reopen() { thread_->reopen(); }

Result<void> AccessLog::update(const LogSettings& settings) {
  if (!settings.access_file.empty()) {
    auto file = LogFile::open(settings.access_file);
    if (!file) return std::unexpected(file.error());
    thread_->replace(std::move(*file));
  }
  enabled_.store(!settings.access_file.empty(), std::memory_order_relaxed);
  return {};
}

}  // namespace pqedge::record
