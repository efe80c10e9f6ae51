// Sends certificates to logs of Certificate Transparency and keeps the timestamps that they answer
// with (RFC 6962 4.1), for authorities that do not do that themselves.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "crypto/handles.h"
#include "crypto/sct.h"
#include "jobs/web_thread.h"

namespace pqedge::jobs {

struct TimestampSubject {
  std::string id;           // the keeper's
  std::string label;        // for logs
  std::string fingerprint;  // SHA-256 of the leaf in hex
  crypto::X509Ptr leaf;
  std::vector<std::string> chain;  // DER, the leaf first
};

struct TimestampNews {
  std::string id;
  std::string fingerprint;
  std::string timestamps;  // SignedCertificateTimestampList; empty: none yet
};

struct TimestampOptions {
  std::shared_ptr<const crypto::LogList> logs;
  std::vector<std::string> submit;  // URLs of logs in it
  std::string cache_dir;
  Nanos retry = 60 * kSecond;
  bool local_addresses = false;
  Nanos timeout = 10 * kSecond;
};

// Lives on the web thread, and is destroyed once that has ended.
class TimestampJob {
 public:
  using Tell = std::function<void(TimestampNews)>;  // called on the web thread

  TimestampJob(WebThread& web, Tell tell);
  ~TimestampJob();
  TimestampJob(const TimestampJob&) = delete;
  TimestampJob& operator=(const TimestampJob&) = delete;

  // All on the web thread. Other logs begin anew with every certificate.
  void configure(TimestampOptions options);
  void add(
      TimestampSubject subject);  // or exchanges the one of that id; the same leaf is left alone
  void remove(const std::string& id);

 private:
  struct Entry;
  struct Submission;
  using EntryRef = std::shared_ptr<Entry>;

  void begin(const EntryRef& entry);
  void take_from_cache(Entry& entry);
  void submit(const EntryRef& entry, size_t index);
  void on_answer(const EntryRef& entry, size_t index, const WebAnswer& answer);
  Result<std::string> read(const Entry& entry, const WebAnswer& answer) const;
  void on_failure(const EntryRef& entry, size_t index, const std::string& why);
  void keep(const Entry& entry);
  void report(const Entry& entry);
  std::string cache_file(const Entry& entry) const;

  WebThread& web_;
  TimestampOptions options_;
  Tell tell_;
  std::map<std::string, EntryRef> entries_;  // by id
  std::minstd_rand dice_;
  bool cache_failed_ = false;
};

}  // namespace pqedge::jobs
