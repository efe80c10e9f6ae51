// What is stapled to the certificates in use: ties the jobs that ask OCSP responders and logs to
// the keeper. On the main thread.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "crypto/sct.h"
#include "crypto/settings.h"
#include "edge/certificate_keeper.h"
#include "jobs/ocsp.h"
#include "jobs/timestamps.h"
#include "net/loop.h"

namespace pqedge::edge {

class Stapling {
 public:
  // Does nothing until it is configured. The keeper must outlive it. No thread runs as long as
  // there is nobody to ask.
  Stapling(net::Loop& main_loop, CertificateKeeper& keeper);
  ~Stapling();
  Stapling(const Stapling&) = delete;
  Stapling& operator=(const Stapling&) = delete;

  // At the start and with a reload, before its certificates are given to the keeper: one whose
  // response is in the cache has it at once. On an error nothing has changed.
  Result<void> configure(const crypto::TlsSettings& settings);

  // A JSON array: what is known of each certificate's response and timestamps.
  std::string status_json() const;

 private:
  struct Item {
    std::string fingerprint;
    std::string label;
    std::string own_timestamps;  // came with the certificate: of a file
    jobs::OcspNews ocsp;
    std::string timestamps;  // of the logs that it was sent to
    std::vector<crypto::TimestampReport> reports;
  };

  void on_certificate(const std::string& id, const crypto::CertificateRef& now);
  void begin(const std::string& id, const crypto::Certificate& certificate);
  void ask(const std::string& id, const crypto::Certificate& certificate);
  void submit(const std::string& id, const crypto::Certificate& certificate);
  void forget(const std::string& id);
  void report_timestamps(Item& item, const crypto::Certificate& certificate);
  void on_ocsp(jobs::OcspNews news);
  void on_timestamps(jobs::TimestampNews news);
  // Puts what has changed into the keeper.
  void apply();
  void apply_one(const std::string& id);
  void touch(const std::string& id);  // applied soon
  void configure_jobs();
  jobs::WebThread* web();  // null: it cannot be started (said in the log)
  template <typename News>
  auto teller(void (Stapling::*take)(News));

  net::Loop& loop_;
  CertificateKeeper& keeper_;
  crypto::OcspSettings ocsp_settings_{.stapling = false};
  crypto::TransparencySettings transparency_;
  std::shared_ptr<const crypto::LogList> logs_;
  std::map<std::string, Item> items_;  // by the certificate's id
  std::set<std::string> dirty_;
  net::Timer apply_timer_;
  std::unique_ptr<jobs::OcspJob> ocsp_;  // the jobs outlive the thread that they live on
  std::unique_ptr<jobs::TimestampJob> timestamps_;
  std::unique_ptr<jobs::WebThread> web_;
  std::shared_ptr<Stapling*> self_;  // null within: it is gone
};

}  // namespace pqedge::edge
