// Certificates in files, on the main thread: reads them again when they change, and gives the
// keeper what is whole and fits. What does not, leaves the certificate in use as it is, and raises
// an alarm.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "crypto/certificate_files.h"
#include "edge/certificate_keeper.h"
#include "edge/settings.h"
#include "jobs/file_watch.h"

namespace pqedge::edge {

class CertificateWatcher {
 public:
  CertificateWatcher(net::Loop& main_loop, CertificateKeeper& keeper);

  // Of a start or a reload whose certificates were just read; the keeper has them already.
  void follow(const Settings& settings, const std::vector<crypto::CertificateRef>& read);
  // Reads what has changed since. The text says what became of it; the error names what could not
  // be taken (the rest was).
  Result<std::string> look();

 private:
  struct Known {
    crypto::CertificateFiles files;
    // As they were when they were last read, whatever came of it.
    crypto::FileStamp chain, key, timestamps;
    std::string problem;      // why the files are not what is served; empty: they are
    Nanos missing_since = 0;  // 0: they are there
    bool listed = true;       // in the last look
  };
  struct Outcome {
    size_t taken = 0;
    size_t removed = 0;
    std::vector<std::string> problems;
  };

  void look_by_itself();
  Outcome look_at_all();
  void look_at(Known& known, Outcome& outcome);
  void forget_missing(Outcome& outcome);
  void set_problem(Known& known, std::string problem, Outcome& outcome);
  void watch_paths();
  void publish_metrics() const;
  void speak_of_expiry();

  net::Loop& loop_;
  CertificateKeeper& keeper_;
  std::vector<crypto::CertificateSettings> settings_;
  crypto::CertificateStore::LoadOptions options_;
  std::map<std::string, Known> known_;             // by id
  std::map<std::string, std::string> unreadable_;  // directories, and why
  std::unique_ptr<jobs::FileWatch> watch_;         // null: not watched
  std::map<std::string, int> spoken_;              // id: the last threshold that was logged
  net::Timer expiry_timer_;
  net::Deferred tell_later_;
};

}  // namespace pqedge::edge
