// The access log: one JSON line a request, formatted and written off the workers.
//
// A worker copies a record into its own ring and goes on; a writer thread takes records out,
// formats and writes them in batches. A full ring drops the record and counts it: a slow disk never
// holds a worker.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "record/byte_ring.h"
#include "record/settings.h"

namespace pqedge::record {

class LogThread;

// What one line says. The views are copied by push(); long ones are cut there, and the line says
// how long they were.
struct AccessRecord {
  Nanos time = 0;  // wall clock when the request began (base/time.h wall_now())
  std::string_view request_id;
  std::string_view client;  // after trusted proxies
  uint16_t client_port = 0;
  std::string_view listener;
  std::string_view tls_version;
  std::string_view group;
  std::string_view cipher;
  std::string_view signature;
  std::string_view sni;
  std::string_view client_subject;  // of the client's certificate; left out without one
  std::string_view ech;             // "accepted", "refused"; empty: none
  std::string_view outer_sni;       // of an accepted one
  bool resumed = false;
  bool early_data = false;
  bool hello_retry = false;
  Nanos handshake = kNever;  // of the connection; kNever: it has none (null in the line)
  uint64_t handshake_in = 0;
  uint64_t handshake_out = 0;
  std::string_view http_version;
  std::string_view method;
  std::string_view host;
  std::string_view path;  // as it came, with its query
  uint16_t status = 0;    // 0: the client got no answer
  uint64_t bytes_in = 0;
  uint64_t bytes_out = 0;
  Nanos duration = 0;
  Nanos connect = kNever;     // to the backend; kNever: no backend was asked (null in the line)
  Nanos first_byte = kNever;  // of the backend's answer, from the start; kNever: none came
  std::string_view route;
  std::string_view pool;
  std::string_view backend;
  uint8_t tries = 0;  // servers asked for this request, one after the other or two at a time
  std::string_view backend_tls_version;  // of the connection to the backend; empty without TLS
  std::string_view backend_group;
  std::string_view user_agent;
  std::string_view reason;  // why an answer is ours or a stream ended early
};

// One worker's end of the log. Not for several threads.
class Recorder {
 public:
  bool enabled() const { return enabled_->load(std::memory_order_relaxed); }
  // Costs a copy of the texts. Nothing when the log is off.
  void push(const AccessRecord& record) {
    if (enabled()) push_copy(record);
  }

 private:
  friend class AccessLog;
  Recorder(size_t capacity, const std::atomic<bool>& enabled)
      : ring_(capacity), enabled_(&enabled) {}
  void push_copy(const AccessRecord& record);

  ByteRing ring_;
  const std::atomic<bool>* enabled_;
  LogThread* thread_ = nullptr;
};

class AccessLog {
 public:
  // Opens the file and starts the writer. settings.queue is shared out to the workers: it counts
  // records of 512 bytes.
  static Result<std::unique_ptr<AccessLog>> open(const LogSettings& settings, unsigned workers);
  ~AccessLog();  // writes what is queued, for at most two seconds
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  Recorder& worker(unsigned index) { return *recorders_[index]; }
  bool enabled() const { return enabled_.load(std::memory_order_relaxed); }
  // Opens the file again by its name once what is queued was written (SIGUSR1). A file that cannot
  // be opened is logged, and the old one stays in use.
  void reopen();
  // Another file, on or off (reload). On an error the old file stays. `queue` changes at a restart.
  Result<void> update(const LogSettings& settings);

 private:
  AccessLog() = default;
  bool drain(std::string& out);

  std::atomic<bool> enabled_{false};
  std::vector<std::unique_ptr<Recorder>> recorders_;
  std::unique_ptr<LogThread> thread_;
};

}  // namespace pqedge::record
